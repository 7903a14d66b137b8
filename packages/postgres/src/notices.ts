import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_NOTICE_BYTES, type Notices, sql } from '@memoryd/core';
import type { Connection } from './connection.ts';

/** Maximum number of queued payloads. A further notice replaces all queued payloads by one `missed` notice. */
const MAX_QUEUED = 10_000;

/** Maximum number of payloads sent by one statement. */
const MAX_BATCH = 500;

/** Maximum text in one payload, in bytes of UTF-8. PostgreSQL allows 8000 bytes with the fields before the text. */
const MAX_PAYLOAD_BYTES = 7000;

/** Maximum number of processes whose notices can be incomplete at a time. */
const MAX_INCOMPLETE = 64;

/** Delay before the first attempt to reopen the listening connection. The delay doubles with each attempt. */
const MIN_RETRY_DELAY_MS = 100;

/** Maximum delay before an attempt to reopen the listening connection, and delay after a failure to send notices. */
const MAX_RETRY_DELAY_MS = 5000;

/** Topic that reports lost notices. */
const MISSED = 'missed';

/** End of the topic of a payload that is not the last of its notice. */
const CONTINUES = '+';

type Topic = Parameters<Notices['publish']>[0];
type Listener = Parameters<Notices['subscribe']>[1];

/** Channel of the schema. One database can contain several schemas with separate memories. */
const CHANNEL = sql`'memoryd_' || md5(current_schema())`;

/**
 * Sends and receives notices with `NOTIFY` and `LISTEN`. Notices are sent after the writes in separate statements,
 * because PostgreSQL serializes the commits of transactions that notify. A long notice has several payloads, between
 * which those of other processes can arrive.
 */
export class PostgresNotices implements Notices {
  readonly #connection: Connection;
  readonly #listeners = new Map<string, Listener>();
  readonly #closing = new AbortController();
  /** The received beginnings of notices, by the process that sends them. */
  readonly #incomplete = new Map<string, string>();
  #queue: string[] = [];
  #sequence = 0;
  #sending: Promise<void> | undefined;
  #listening: { started: Promise<void>; ended: Promise<void> } | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  publish(topic: Topic, text: string): void {
    const parts = splitText(text);
    if (this.#queue.length + parts.length > MAX_QUEUED) this.#queue = [this.#createPayload(MISSED)];
    else this.#queue.push(...parts.map((part, i) => this.#createPayload(topic, part, i < parts.length - 1)));
    this.#sending ??= this.#sendAll();
  }

  subscribe(topic: Topic, listener: Listener): Promise<void> {
    this.#listeners.set(topic, listener);
    this.#listening ??= this.#start();
    return this.#listening.started;
  }

  /** Sends the queued notices, and stops listening. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#sending;
    await this.#listening?.ended;
  }

  // The process id lets a process ignore its own notices. The number makes payloads unique, because PostgreSQL drops
  // duplicates.
  #createPayload(topic: string, text = '', continues = false): string {
    return `${this.#connection.process} ${this.#sequence++} ${topic}${continues ? CONTINUES : ''} ${text}`;
  }

  async #sendAll(): Promise<void> {
    while (this.#queue.length > 0) {
      const payloads = this.#queue.splice(0, MAX_BATCH);
      try {
        await this.#connection.run(sql`
          SELECT pg_notify(${CHANNEL}, payload) FROM unnest(${payloads}::text[]) AS notice(payload)`);
      } catch {
        if (this.#closing.signal.aborted) break;
        // Replaces the lost notices with one `missed` notice, which is sent as soon as sending works again.
        this.#queue = [this.#createPayload(MISSED)];
        await this.#delay(MAX_RETRY_DELAY_MS);
      }
    }
    // No await between the last check of the queue and this line, so that the next `publish` starts sending again.
    this.#sending = undefined;
  }

  #start(): { started: Promise<void>; ended: Promise<void> } {
    let ended = Promise.resolve();
    const started = new Promise<void>((resolve) => {
      ended = this.#keepListening(resolve);
    });
    return { started, ended };
  }

  async #keepListening(onStarted: () => void): Promise<void> {
    const { signal } = this.#closing;
    let isFirst = true;
    let delayMs = MIN_RETRY_DELAY_MS;
    const onNotification = (payload: string) => this.#receive(payload);
    const onListening = () => {
      this.#incomplete.clear();
      if (!isFirst) this.#notifyMissed();
      delayMs = MIN_RETRY_DELAY_MS;
      onStarted();
    };
    while (!signal.aborted) {
      await this.#connection.listen(CHANNEL, { onListening, onNotification, signal }).catch(() => {});
      isFirst = false;
      onStarted();
      await this.#delay(delayMs);
      delayMs = Math.min(delayMs * 2, MAX_RETRY_DELAY_MS);
    }
  }

  #receive(payload: string): void {
    const [, from = '', topic = '', part = ''] = /^(\S*) \S* (\S*) (.*)$/s.exec(payload) ?? [];
    if (from === this.#connection.process) return;
    const text = (this.#incomplete.get(from) ?? '') + part;
    this.#incomplete.delete(from);
    if (topic === MISSED) this.#notifyMissed();
    else if (!topic.endsWith(CONTINUES)) this.#listeners.get(topic)?.onNotice(text);
    else if (text.length <= MAX_NOTICE_BYTES) this.#keep(from, text);
  }

  /** Stores the beginning of a notice. The process that has sent nothing for the longest time may have been killed. */
  #keep(from: string, text: string): void {
    this.#incomplete.set(from, text);
    const [oldest] = this.#incomplete.keys();
    if (this.#incomplete.size > MAX_INCOMPLETE && oldest !== undefined) this.#incomplete.delete(oldest);
  }

  #notifyMissed(): void {
    for (const listener of this.#listeners.values()) listener.onGap();
  }

  async #delay(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#closing.signal, ref: false }).catch(() => {});
  }
}

const encoder = new TextEncoder();
const buffer = new Uint8Array(MAX_PAYLOAD_BYTES);

/** Splits a text into parts of at most `MAX_PAYLOAD_BYTES`, between characters. */
function splitText(text: string): string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length || at === 0; ) {
    const { read } = encoder.encodeInto(text.slice(at, at + MAX_PAYLOAD_BYTES + 1), buffer);
    parts.push(text.slice(at, at + read));
    if (read === 0) break;
    at += read;
  }
  return parts;
}
