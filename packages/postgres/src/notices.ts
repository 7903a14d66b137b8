import { setTimeout as sleep } from 'node:timers/promises';
import { type NoticeListener, type Notices, type NoticeTopic, sql } from '@memoryd/engine/storage-kit';
import type { Connection } from './connection.ts';

/** Most notices that wait to be told, and that one statement tells. */
const WAITING_LIMIT = 10_000;
const TOLD_AT_ONCE = 500;

/** How long the connection that hears may be gone before it is looked for again: at first, and at the most. */
const FIRST_REST_MS = 100;
const MAX_REST_MS = 5000;

/** Said where notices were lost on their way out. */
const MISSED = 'missed';

/** Each schema has a channel: one database may hold several of them, each with memories of its own. */
const CHANNEL = sql`'memoryd_' || md5(current_schema())`;

/**
 * Notices by `NOTIFY`. They are told in statements of their own and not with the writes that they are about, since
 * PostgreSQL lets transactions that notify commit one at a time.
 */
export class PostgresNotices implements Notices {
  readonly #connection: Connection;
  readonly #listeners = new Map<string, NoticeListener>();
  readonly #closing = new AbortController();
  #waiting: string[] = [];
  #told = 0;
  #telling: Promise<void> | undefined;
  #hearing: { begun: Promise<void>; ended: Promise<void> } | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  tell(topic: NoticeTopic, text: string): void {
    if (this.#waiting.length >= WAITING_LIMIT) this.#waiting = [this.#payload(MISSED)];
    else this.#waiting.push(this.#payload(topic, text));
    this.#telling ??= this.#tellAll();
  }

  hear(topic: NoticeTopic, listener: NoticeListener): Promise<void> {
    this.#listeners.set(topic, listener);
    this.#hearing ??= this.#begin();
    return this.#hearing.begun;
  }

  /** Tells what waits, and hears no more. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#telling;
    await this.#hearing?.ended;
  }

  // Who tells comes first, so that nobody hears their own; a number, since of two that are the same one is dropped.
  #payload(topic: string, text = ''): string {
    return `${this.#connection.process} ${this.#told++} ${topic} ${text}`;
  }

  async #tellAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const payloads = this.#waiting.splice(0, TOLD_AT_ONCE);
      try {
        await this.#connection.run(sql`
          SELECT pg_notify(${CHANNEL}, payload) FROM unnest(${payloads}::text[]) AS notice(payload)`);
      } catch {
        if (this.#closing.signal.aborted) break;
        // Said as soon as anything can be again.
        this.#waiting = [this.#payload(MISSED)];
        await this.#rest(MAX_REST_MS);
      }
    }
    // With nothing between it and the last look, so that whoever tells next begins anew.
    this.#telling = undefined;
  }

  #begin(): { begun: Promise<void>; ended: Promise<void> } {
    let ended = Promise.resolve();
    const begun = new Promise<void>((resolve) => {
      ended = this.#hearOn(resolve);
    });
    return { begun, ended };
  }

  async #hearOn(begun: () => void): Promise<void> {
    const { signal } = this.#closing;
    let isFirst = true;
    let restMs = FIRST_REST_MS;
    const heard = (payload: string) => this.#heard(payload);
    const listening = () => {
      if (!isFirst) this.#missed();
      restMs = FIRST_REST_MS;
      begun();
    };
    while (!signal.aborted) {
      await this.#connection.listen(CHANNEL, { listening, heard, signal }).catch(() => {});
      isFirst = false;
      begun();
      await this.#rest(restMs);
      restMs = Math.min(restMs * 2, MAX_REST_MS);
    }
  }

  #heard(payload: string): void {
    const [, from, topic = '', text = ''] = /^(\S*) \S* (\S*) (.*)$/s.exec(payload) ?? [];
    if (from === this.#connection.process) return;
    if (topic === MISSED) this.#missed();
    else this.#listeners.get(topic)?.heard(text);
  }

  #missed(): void {
    for (const listener of this.#listeners.values()) listener.missed();
  }

  async #rest(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#closing.signal, ref: false }).catch(() => {});
  }
}
