import { setTimeout as delay } from 'node:timers/promises';
import type { StoreResponse } from '@memoryd/contract';
import { type Answer, type Request, send } from '../conformance/http.ts';
import { eventually } from '../conformance/process.ts';
import type { Client } from '../conformance/under-test.ts';
import type { Random } from './random.ts';

const RETRY_TIMEOUT_MS = 60_000;
const RETRY_INTERVAL_MS = 50;

/** Results of the requests of all clients. */
export interface Outcome {
  acknowledged: number;
  /** Number of retries after a 503 or a lost response. */
  retried: number;
  /** Texts whose acknowledged write is missing. */
  lost: string[];
  /** Texts stored twice, or without a write. */
  duplicated: string[];
}

export const createOutcome = (): Outcome => ({ acknowledged: 0, retried: 0, lost: [], duplicated: [] });

/**
 * A client that stores, updates, forgets and recalls memories of its own session. It retries a request, with the same
 * idempotency key, until it gets a response. Throws on any status other than 200 and 503.
 */
export class PatientClient {
  readonly #session: string;
  readonly #random: Random;
  readonly #outcome: Outcome;
  /** Ids of the memories that must exist, by text. */
  readonly #stored = new Map<string, string>();
  /** Texts that no memory may have any more. */
  readonly #forgotten = new Set<string>();
  #texts = 0;

  constructor(session: string, random: Random, outcome: Outcome) {
    this.#session = session;
    this.#random = random;
    this.#outcome = outcome;
  }

  /** Sends requests until `signal` aborts. `port` is called for each request and chooses the server. */
  async work(port: () => number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) await this.#once(port);
  }

  async #once(port: () => number): Promise<void> {
    const drawn = this.#random.below(100);
    const known = this.#random.pick([...this.#stored]);
    if (!known || drawn < 55) return this.#store(port);
    const [text, id] = known;
    if (drawn < 70) {
      const content = this.#createText();
      await this.#send(port, { method: 'PUT', path: `/update/${id}`, json: { content } });
      this.#stored.delete(text);
      this.#stored.set(content, id);
    } else if (drawn < 80) {
      // A retry gets 404 if the first attempt succeeded and its response was lost.
      await this.#send(port, { method: 'DELETE', path: `/forget/${id}` }, [200, 404]);
      this.#stored.delete(text);
      this.#forgotten.add(text);
    } else return void (await this.#send(port, { path: `/recall?query=${encodeURIComponent(text)}` }));
    this.#outcome.acknowledged++;
  }

  async #store(port: () => number): Promise<void> {
    const content = this.#createText();
    const { body } = await this.#send<StoreResponse>(port, {
      method: 'POST',
      path: '/store',
      headers: { 'idempotency-key': content },
      json: { content, session_id: this.#session },
    });
    this.#stored.set(content, body.id);
    this.#outcome.acknowledged++;
  }

  #createText(): string {
    return `${this.#session} said for the ${++this.#texts}th time: ${this.#random.word(12)}`;
  }

  async #send<Body>(port: () => number, request: Request, expectedStatuses = [200]): Promise<Answer<Body>> {
    for (const deadline = Date.now() + RETRY_TIMEOUT_MS; Date.now() < deadline; ) {
      const answer = await send<Body>(port(), request).catch(() => undefined);
      if (answer && expectedStatuses.includes(answer.status)) return answer;
      if (answer && answer.status !== 503) throw new Error(`${request.path}: ${answer.status} ${answer.text}`);
      this.#outcome.retried++;
      await delay(RETRY_INTERVAL_MS);
    }
    throw new Error(`${request.path}: no response in ${RETRY_TIMEOUT_MS} ms`);
  }

  /** Compares the memories of a server with the acknowledged writes. */
  async check(client: Client): Promise<void> {
    const { memories } = await client.session(this.#session, 'limit=10000');
    const actual = new Map<string, string[]>();
    for (const { id, content } of memories) actual.set(content, [...(actual.get(content) ?? []), id]);
    this.#compare(actual);
    await this.#expectRecalled(client);
  }

  #compare(actual: ReadonlyMap<string, string[]>): void {
    const { lost, duplicated } = this.#outcome;
    for (const [text, id] of this.#stored) if (!actual.get(text)?.includes(id)) lost.push(text);
    for (const text of this.#forgotten) if (actual.has(text)) lost.push(`forgotten: ${text}`);
    for (const [text, ids] of actual) if (ids.length > 1 || !this.#stored.has(text)) duplicated.push(text);
  }

  async #expectRecalled(client: Client): Promise<void> {
    const [text, id] = this.#random.pick([...this.#stored]) ?? [];
    if (text === undefined || id === undefined) return;
    if (!(await client.recalled(text, 'top_k=20')).includes(id)) this.#outcome.lost.push(`not recalled: ${text}`);
  }
}

/** Waits until `count` more writes have been acknowledged. */
export async function waitForWrites(outcome: Outcome, count: number): Promise<void> {
  const target = outcome.acknowledged + count;
  await eventually(`${count} more writes`, 2 * RETRY_TIMEOUT_MS, () => outcome.acknowledged >= target || undefined);
}
