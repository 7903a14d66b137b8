import type { MemoriesResponse, RecallResponse, StoreBatchResponse, StoreResponse } from '@memoryd/contract';
import type { Dialogue } from '../latency/dialogue.ts';
import { drawIndex, drawItem, type Random } from '../random.ts';
import type { RecordingClient } from './recording-client.ts';

/** Target number of memories. At this number, as many memories are forgotten as stored on average. */
const TARGET_MEMORIES = 10_000;
const BATCH_SIZE = 20;
const FILLING_SIZE = 500;
const QUERY_WORDS = 6;

/** Expected errors if another client changes or forgets the memory first. */
const CONCURRENT_CHANGE_ERRORS = ['NOT_FOUND', 'PRECONDITION_FAILED'];

/** Sends random requests. The weights approximate how often agents send each kind of request. */
export class MixedLoad {
  readonly #client: RecordingClient;
  readonly #dialogue: Dialogue;
  readonly #random: Random;
  readonly #ids: string[] = [];
  #turns = 0;

  constructor(client: RecordingClient, dialogue: Dialogue, random: Random) {
    this.#client = client;
    this.#dialogue = dialogue;
    this.#random = random;
  }

  /** Number of memories that this load has stored and not forgotten. */
  get memories(): number {
    return this.#ids.length;
  }

  /** Stores the target number of memories, so that the size is constant from the start. */
  async fill(): Promise<void> {
    while (this.#ids.length < TARGET_MEMORIES) await this.#storeBatch(FILLING_SIZE);
  }

  async step(): Promise<void> {
    const perStore = this.#ids.length / TARGET_MEMORIES;
    const actions: [weight: number, action: () => Promise<unknown>][] = [
      [30, () => this.#store()],
      [2, () => this.#storeBatch(BATCH_SIZE)],
      [35, () => this.#recall()],
      [8, () => this.#update()],
      [70 * perStore, () => this.#forget()],
      [5, () => this.#memory()],
      [5, () => this.#session()],
      [3, () => this.#list('memories', '/memories?limit=50')],
      [2, () => this.#list('sessions', '/sessions?limit=50')],
      [2, () => this.#client.send({ verb: 'stats', method: 'GET', path: '/stats' })],
    ];
    let at = this.#random() * actions.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, action] of actions) {
      at -= weight;
      if (at < 0) {
        await action();
        return;
      }
    }
  }

  #next() {
    const { content, sessionId } = this.#dialogue.turn(this.#turns++);
    return { content, session_id: sessionId };
  }

  async #store(): Promise<void> {
    const stored = await this.#client.send<StoreResponse>({
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
    const batch = await this.#client.send<StoreBatchResponse>({
      verb: 'store_batch',
      method: 'POST',
      path: '/store/batch',
      json,
      expectedErrors: ['UNAVAILABLE'],
    });
    for (const result of batch?.results ?? []) {
      if ('id' in result) this.#ids.push(result.id);
      else this.#client.recordError(`store_batch item ${result.error.code}`);
    }
  }

  async #recall(): Promise<void> {
    const words = this.#dialogue.turn(drawIndex(this.#random, this.#turns + 1)).content.split(' ');
    const query = words.slice(-QUERY_WORDS).join(' ');
    const path = `/recall?${new URLSearchParams({ query, top_k: '10' })}`;
    await this.#client.send<RecallResponse>({ verb: 'recall', method: 'GET', path });
  }

  async #update(): Promise<void> {
    const id = this.#pickId();
    if (id === undefined) return;
    const headers = this.#random() < 0.5 ? { 'if-match': '"1"' } : {};
    const { content } = this.#next();
    const request = { verb: 'update', method: 'PUT', path: `/update/${id}`, headers, json: { content } } as const;
    await this.#client.send({ ...request, expectedErrors: CONCURRENT_CHANGE_ERRORS });
  }

  async #forget(): Promise<void> {
    const at = drawIndex(this.#random, this.#ids.length);
    const id = this.#ids[at];
    const last = this.#ids.pop();
    if (id === undefined || last === undefined) return;
    if (at < this.#ids.length) this.#ids[at] = last;
    await this.#client.send({
      verb: 'forget',
      method: 'DELETE',
      path: `/forget/${id}`,
      expectedErrors: CONCURRENT_CHANGE_ERRORS,
    });
  }

  async #memory(): Promise<void> {
    const id = this.#pickId();
    if (id === undefined) return;
    await this.#client.send({
      verb: 'memory',
      method: 'GET',
      path: `/memories/${id}`,
      expectedErrors: CONCURRENT_CHANGE_ERRORS,
    });
  }

  async #session(): Promise<void> {
    const { sessionId } = this.#dialogue.turn(drawIndex(this.#random, this.#turns + 1));
    await this.#client.send({ verb: 'session', method: 'GET', path: `/session/${sessionId}` });
  }

  /** Fetches the first two pages. */
  async #list(verb: string, path: string): Promise<void> {
    const page = await this.#client.send<MemoriesResponse>({ verb, method: 'GET', path });
    if (page?.next_cursor === undefined) return;
    const next = `${path}&cursor=${encodeURIComponent(page.next_cursor)}`;
    await this.#client.send({ verb, method: 'GET', path: next });
  }

  #pickId(): string | undefined {
    return this.#ids.length > 0 ? drawItem(this.#random, this.#ids) : undefined;
  }
}
