import type { MemoriesResponse, RecallResponse, StoreBatchResponse, StoreResponse } from '@memoryd/contract';
import type { Dialogue } from '../latency/dialogue.ts';
import { type Random, randomIndex, randomItem } from '../random.ts';
import type { Exchanges } from './exchanges.ts';

/** Memories that are kept about: with as many, one is forgotten for each that is stored. */
const KEPT_MEMORIES = 10_000;
const BATCH_SIZE = 20;
const FILLING_SIZE = 500;
const QUERY_WORDS = 6;

/** What another client may have done meanwhile. */
const OVERTAKEN = ['NOT_FOUND', 'PRECONDITION_FAILED'];

/** Does one thing after the other as agents do, each chosen by how often agents do it. */
export class MixedLoad {
  readonly #exchanges: Exchanges;
  readonly #dialogue: Dialogue;
  readonly #random: Random;
  readonly #ids: string[] = [];
  #turns = 0;

  constructor(exchanges: Exchanges, dialogue: Dialogue, random: Random) {
    this.#exchanges = exchanges;
    this.#dialogue = dialogue;
    this.#random = random;
  }

  /** Memories that were stored and not forgotten, as far as this load knows. */
  get memories(): number {
    return this.#ids.length;
  }

  /** Stores as many as are kept, so that what is measured has a steady size from the start. */
  async fill(): Promise<void> {
    while (this.#ids.length < KEPT_MEMORIES) await this.#storeBatch(FILLING_SIZE);
  }

  async step(): Promise<void> {
    const perStore = this.#ids.length / KEPT_MEMORIES;
    const deeds: [weight: number, deed: () => Promise<unknown>][] = [
      [30, () => this.#store()],
      [2, () => this.#storeBatch(BATCH_SIZE)],
      [35, () => this.#recall()],
      [8, () => this.#update()],
      [70 * perStore, () => this.#forget()],
      [5, () => this.#memory()],
      [5, () => this.#session()],
      [3, () => this.#list('memories', '/memories?limit=50')],
      [2, () => this.#list('sessions', '/sessions?limit=50')],
      [2, () => this.#exchanges.send({ verb: 'stats', method: 'GET', path: '/stats' })],
    ];
    let at = this.#random() * deeds.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, deed] of deeds) {
      at -= weight;
      if (at < 0) {
        await deed();
        return;
      }
    }
  }

  #next() {
    const { content, sessionId } = this.#dialogue.turn(this.#turns++);
    return { content, session_id: sessionId };
  }

  async #store(): Promise<void> {
    const stored = await this.#exchanges.send<StoreResponse>({
      verb: 'store',
      method: 'POST',
      path: '/store',
      headers: { 'idempotency-key': `soak-${this.#turns}` },
      json: this.#next(),
    });
    if (stored) this.#ids.push(stored.id);
  }

  async #storeBatch(size: number): Promise<void> {
    const json = Array.from({ length: size }, () => this.#next());
    const batch = await this.#exchanges.send<StoreBatchResponse>({
      verb: 'store_batch',
      method: 'POST',
      path: '/store/batch',
      json,
      intended: ['UNAVAILABLE'],
    });
    for (const result of batch?.results ?? []) {
      if ('id' in result) this.#ids.push(result.id);
      else this.#exchanges.fail(`store_batch item ${result.error.code}`);
    }
  }

  async #recall(): Promise<void> {
    const words = this.#dialogue.turn(randomIndex(this.#random, this.#turns + 1)).content.split(' ');
    const query = words.slice(-QUERY_WORDS).join(' ');
    const path = `/recall?${new URLSearchParams({ query, top_k: '10' })}`;
    await this.#exchanges.send<RecallResponse>({ verb: 'recall', method: 'GET', path });
  }

  async #update(): Promise<void> {
    const id = this.#known();
    if (id === undefined) return;
    const headers = this.#random() < 0.5 ? { 'if-match': '"1"' } : {};
    const { content } = this.#next();
    const request = { verb: 'update', method: 'PUT', path: `/update/${id}`, headers, json: { content } } as const;
    await this.#exchanges.send({ ...request, intended: OVERTAKEN });
  }

  async #forget(): Promise<void> {
    const at = randomIndex(this.#random, this.#ids.length);
    const id = this.#ids[at];
    const last = this.#ids.pop();
    if (id === undefined || last === undefined) return;
    if (at < this.#ids.length) this.#ids[at] = last;
    await this.#exchanges.send({ verb: 'forget', method: 'DELETE', path: `/forget/${id}`, intended: OVERTAKEN });
  }

  async #memory(): Promise<void> {
    const id = this.#known();
    if (id === undefined) return;
    await this.#exchanges.send({ verb: 'memory', method: 'GET', path: `/memories/${id}`, intended: OVERTAKEN });
  }

  async #session(): Promise<void> {
    const { sessionId } = this.#dialogue.turn(randomIndex(this.#random, this.#turns + 1));
    await this.#exchanges.send({ verb: 'session', method: 'GET', path: `/session/${sessionId}` });
  }

  /** The first page and the one after it. */
  async #list(verb: string, path: string): Promise<void> {
    const page = await this.#exchanges.send<MemoriesResponse>({ verb, method: 'GET', path });
    if (page?.next_cursor === undefined) return;
    const next = `${path}&cursor=${encodeURIComponent(page.next_cursor)}`;
    await this.#exchanges.send({ verb, method: 'GET', path: next });
  }

  #known(): string | undefined {
    return this.#ids.length > 0 ? randomItem(this.#random, this.#ids) : undefined;
  }
}
