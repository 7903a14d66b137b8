import { setTimeout as delay } from 'node:timers/promises';
import type { StoreResponse } from '@memoryd/contract';
import { type Answer, type Request, send } from '../conformance/http.ts';
import { eventually } from '../conformance/process.ts';
import type { Client } from '../conformance/under-test.ts';
import type { Random } from './random.ts';

/** Longest that a client sends a request again and again. */
const PATIENCE_MS = 60_000;
const REST_MS = 50;

/** What requests came to. */
export interface Outcome {
  acknowledged: number;
  /** Requests that were sent again after a 503 or no answer at all. */
  retried: number;
  /** Acknowledged, and not there as acknowledged; or there twice. */
  lost: string[];
  doubled: string[];
}

export const newOutcome = (): Outcome => ({ acknowledged: 0, retried: 0, lost: [], doubled: [] });

/**
 * A client that stores, updates, forgets and recalls, in a session of its own, and sends a request again, under the same
 * idempotency key, until it is answered. Any answer but 200 and 503 is a fault.
 */
export class PatientClient {
  readonly #session: string;
  readonly #random: Random;
  readonly #outcome: Outcome;
  /** What is acknowledged of each text: the id of its memory. */
  readonly #kept = new Map<string, string>();
  readonly #gone = new Set<string>();
  #texts = 0;

  constructor(session: string, random: Random, outcome: Outcome) {
    this.#session = session;
    this.#random = random;
    this.#outcome = outcome;
  }

  /** Writes until it is told to stop, at whichever server it is told to ask. */
  async work(port: () => number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) await this.#once(port);
  }

  async #once(port: () => number): Promise<void> {
    const drawn = this.#random.below(100);
    const known = this.#random.pick([...this.#kept]);
    if (!known || drawn < 55) return this.#store(port);
    const [text, id] = known;
    if (drawn < 70) {
      const content = this.#text();
      await this.#send(port, { method: 'PUT', path: `/update/${id}`, json: { content } });
      this.#kept.delete(text);
      this.#kept.set(content, id);
    } else if (drawn < 80) {
      // One that was done before its answer was lost is found to be done.
      await this.#send(port, { method: 'DELETE', path: `/forget/${id}` }, [200, 404]);
      this.#kept.delete(text);
      this.#gone.add(text);
    } else return void (await this.#send(port, { path: `/recall?query=${encodeURIComponent(text)}` }));
    this.#outcome.acknowledged++;
  }

  async #store(port: () => number): Promise<void> {
    const content = this.#text();
    const { body } = await this.#send<StoreResponse>(port, {
      method: 'POST',
      path: '/store',
      headers: { 'idempotency-key': content },
      json: { content, session_id: this.#session },
    });
    this.#kept.set(content, body.id);
    this.#outcome.acknowledged++;
  }

  #text(): string {
    return `${this.#session} said for the ${++this.#texts}th time: ${this.#random.word(12)}`;
  }

  async #send<Body>(port: () => number, request: Request, done = [200]): Promise<Answer<Body>> {
    for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; ) {
      const answer = await send<Body>(port(), request).catch(() => undefined);
      if (answer && done.includes(answer.status)) return answer;
      if (answer && answer.status !== 503) throw new Error(`${request.path}: ${answer.status} ${answer.text}`);
      this.#outcome.retried++;
      await delay(REST_MS);
    }
    throw new Error(`${request.path}: not answered in ${PATIENCE_MS} ms`);
  }

  /** Holds what a server has against what was acknowledged. */
  async check(client: Client): Promise<void> {
    const { memories } = await client.session(this.#session, 'limit=10000');
    const there = new Map<string, string[]>();
    for (const { id, content } of memories) there.set(content, [...(there.get(content) ?? []), id]);
    this.#compare(there);
    await this.#expectRecalled(client);
  }

  #compare(there: ReadonlyMap<string, string[]>): void {
    const { lost, doubled } = this.#outcome;
    for (const [text, id] of this.#kept) if (!there.get(text)?.includes(id)) lost.push(text);
    for (const text of this.#gone) if (there.has(text)) lost.push(`forgotten: ${text}`);
    for (const [text, ids] of there) if (ids.length > 1 || !this.#kept.has(text)) doubled.push(text);
  }

  async #expectRecalled(client: Client): Promise<void> {
    const [text, id] = this.#random.pick([...this.#kept]) ?? [];
    if (text === undefined || id === undefined) return;
    if (!(await client.recalled(text, 'top_k=20')).includes(id)) this.#outcome.lost.push(`not recalled: ${text}`);
  }
}

/** Waits until the clients have had so many writes acknowledged since the call. */
export async function acknowledging(outcome: Outcome, count: number): Promise<void> {
  const enough = outcome.acknowledged + count;
  await eventually(`${count} more writes`, 2 * PATIENCE_MS, () => outcome.acknowledged >= enough || undefined);
}
