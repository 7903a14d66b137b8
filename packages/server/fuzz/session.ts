import { setTimeout as delay } from 'node:timers/promises';
import type { ConsolidateResponse, Memory, StoreBatchResponse, StoreResponse } from '@memoryd/contract';
import { openStream } from '../conformance/event-reader.ts';
import { type Answer, type Request, send } from '../conformance/http.ts';
import { complaintsAbout } from './judge.ts';
import { Ledger, type Span } from './ledger.ts';
import type { Operation } from './open-api.ts';
import type { Plan } from './requests.ts';
import { Told } from './tokens.ts';

/**
 * How often a request that the service could not take is sent again, and after how long: for a minute, since copies of one
 * namespace are made two at a time.
 */
const TRIES = 300;
const REST_MS = 200;

/** How long a stream is read. */
const STREAM_MS = 30;

/** A request that was answered wrongly, as it was sent. */
export interface Finding {
  request: Request;
  what: string;
  status: number;
  text: string;
  complaints: string[];
}

/** Sends requests to one server and keeps account of what it answered. */
export class Session {
  readonly findings: Finding[] = [];
  readonly ledger = new Ledger();
  /** Answers by operation and status; those to other methods on its path are counted apart. */
  readonly counts = new Map<string, Map<number, number>>();
  readonly #port: () => number;
  readonly #told = new Told();
  readonly #requestIds = new Set<string>();
  #tick = 0;

  constructor(port: () => number) {
    this.#port = port;
  }

  /** Sends a request, judges the answer and notes what it says was done. */
  async send(plan: Plan): Promise<void> {
    const request = this.#getRequest(plan);
    const bytes = request.body === undefined ? undefined : Buffer.from(request.body as string);
    const span: Span = { start: ++this.#tick, end: 0 };
    // What an import keeps is told by counts.
    if (plan.operation.name === 'POST /import') this.ledger.unanswered(contentsIn(bytes));
    let answer: Answer;
    try {
      answer = await this.#answerTo(plan.operation, request);
    } catch (error) {
      this.#found(plan, request, { status: 0, text: '' }, [`no answer: ${String(error)}`]);
      this.ledger.unanswered(contentsIn(bytes));
      return;
    }
    span.end = ++this.#tick;
    this.#count(plan.method === plan.operation.method ? plan.operation.name : 'other methods', answer.status);
    const complaints = complaintsAbout(plan, { ...(bytes && { body: bytes }) }, answer);
    const requestId = String(answer.headers['x-request-id']);
    if (this.#requestIds.has(requestId)) complaints.push('a request id for the second time');
    this.#requestIds.add(requestId);
    this.#found(plan, request, answer, complaints);
    if (answer.status === 200 && request.method === plan.operation.method)
      this.#note(plan.operation, request, bytes, answer, span);
  }

  #found(
    { what }: Plan,
    request: Request,
    { status, text }: Pick<Answer, 'status' | 'text'>,
    complaints: string[],
  ): void {
    if (complaints.length > 0) this.findings.push({ request, what, status, text: text.slice(0, 1000), complaints });
  }

  #getRequest({ operation, method, path, headers, body, chunked = false }: Plan): Request {
    const fill = (text: string, encode?: (value: string) => string) => this.#told.fill(text, operation.name, encode);
    const filled = Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value : fill(value)]);
    return {
      method,
      path: fill(path, encodeURIComponent),
      headers: Object.fromEntries(filled),
      ...(body !== undefined && { body: typeof body === 'string' ? fill(body) : body, chunked }),
    };
  }

  async #answerTo(operation: Operation, request: Request): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#exchange(operation, request);
      if (answer.status !== 503 || attempt === TRIES || answer.headers['retry-after'] === undefined) return answer;
      this.#count(operation.name, 503);
      await delay(REST_MS);
    }
  }

  async #exchange(operation: Operation, request: Request): Promise<Answer> {
    const isStream = operation.answers.get(200)?.has('text/event-stream') && request.method === 'GET';
    try {
      return isStream ? await readStream(this.#port(), request) : await send(this.#port(), request);
    } catch (error) {
      // The service closed this connection after the request before. Other kept connections may be closed too, so the
      // request is sent again over a new one.
      if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
      return send(this.#port(), { ...request, headers: { ...request.headers, connection: 'close' } });
    }
  }

  #count(name: string, status: number): void {
    const counts = this.counts.get(name) ?? new Map<number, number>();
    this.counts.set(name, counts.set(status, (counts.get(status) ?? 0) + 1));
  }

  #note({ name }: Operation, request: Request, bytes: Buffer | undefined, answer: Answer, span: Span): void {
    const { next_cursor } = answer.body as { next_cursor?: string };
    if (next_cursor !== undefined) this.#told.add(`cursor ${name}`, next_cursor);
    const url = new URL(request.path, 'http://127.0.0.1');
    const id = decodeURIComponent(url.pathname.split('/')[2] ?? '');
    switch (name) {
      case 'POST /store':
        this.#noteStored((answer.body as StoreResponse).id, () =>
          this.ledger.stored((answer.body as StoreResponse).id, JSON.parse(getText(bytes)), span),
        );
        break;
      case 'POST /store/batch': {
        const batch = answer.body as StoreBatchResponse;
        this.ledger.storedBatch(batch, getItems(request, getText(bytes)), span);
        for (const result of batch.results) if ('id' in result) this.#told.add('memory', result.id);
        break;
      }
      case 'PUT /update/{memory_id}':
        this.ledger.updated(id, JSON.parse(getText(bytes)), span);
        break;
      case 'DELETE /forget/{memory_id}': {
        const { also_forgotten = [] } = answer.body as { also_forgotten?: string[] };
        this.ledger.forgotten([id, ...also_forgotten]);
        break;
      }
      case 'DELETE /memories':
        this.ledger.forgottenMany(Object.fromEntries(url.searchParams), span);
        break;
      case 'POST /consolidate': {
        const { id: run } = answer.body as ConsolidateResponse;
        if (run !== undefined) this.#told.add('consolidation', run);
        break;
      }
      case 'GET /events':
        for (const [, event = ''] of answer.text.matchAll(/^id: (.*)$/gm)) this.#told.add('event', event);
        break;
    }
  }

  #noteStored(id: string, note: () => void): void {
    note();
    this.#told.add('memory', id);
  }

  /** Compares everything that the service holds with what it said; answers what is wrong. */
  async audit(): Promise<string[]> {
    const held = await this.#heldMemories();
    const complaints = [...held].flatMap(([id, memory]) => this.ledger.complaints(id, memory));
    for (const id of this.ledger.ids) {
      if (held.has(id)) continue;
      // A list leaves merged duplicates out.
      const answer = await send<Memory>(this.#port(), { path: `/memories/${id}` });
      complaints.push(...this.ledger.complaints(id, answer.status === 200 ? answer.body : undefined));
    }
    return complaints;
  }

  async #heldMemories(): Promise<Map<string, Memory>> {
    const held = new Map<string, Memory>();
    for (let cursor = ''; ; ) {
      const answer = await send<{ memories: Memory[]; next_cursor?: string }>(this.#port(), {
        path: `/memories?limit=500${cursor}`,
      });
      for (const memory of answer.body.memories) held.set(memory.id, memory);
      if (answer.body.next_cursor === undefined) return held;
      cursor = `&cursor=${encodeURIComponent(answer.body.next_cursor)}`;
    }
  }
}

/** The beginning of a stream, or whatever else came in its place. */
async function readStream(port: number, request: Request): Promise<Answer> {
  const reader = await openStream(port, request.path, request.headers);
  const text = reader.status === 200 ? '' : await reader.ended.then(() => reader.text());
  if (reader.status === 200) await delay(STREAM_MS);
  const told = text || reader.text();
  reader.leave();
  const isJson = /^application\/json\b/.test(reader.headers['content-type'] ?? '');
  return { status: reader.status, headers: reader.headers, text: told, body: isJson ? JSON.parse(told) : told };
}

function getText(bytes: Buffer | undefined): string {
  return new TextDecoder().decode(bytes);
}

/** What the items of a batch are, each in its place. */
function getItems({ headers }: Request, text: string): unknown[] {
  if (!/ndjson|jsonl/.test(String(headers?.['content-type']))) return JSON.parse(text) as unknown[];
  const lines = text.split('\n').filter((line) => line !== '' && line !== '\r');
  return lines.map((line) => {
    try {
      return JSON.parse(line) as unknown;
    } catch {
      return undefined;
    }
  });
}

function contentsIn(bytes: Buffer | undefined): string[] {
  return [...getText(bytes).matchAll(/"content":("(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")/gu)].map(
    ([, json = '""']) => JSON.parse(json) as string,
  );
}
