import { setTimeout as delay } from 'node:timers/promises';
import type {
  ConsolidateResponse,
  ImportTextsResponse,
  Memory,
  StoreBatchResponse,
  StoreResponse,
  UpdateManyResponse,
} from '@memoryd/contract';
import { openStream } from '../conformance/event-reader.ts';
import { type Answer, type Request, send } from '../conformance/http.ts';
import { findProblems } from './judge.ts';
import { Ledger, type Span } from './ledger.ts';
import type { Operation } from './open-api.ts';
import { KnownValues } from './placeholders.ts';
import type { Plan } from './requests.ts';

/**
 * Limits for repeating a request that was refused under load: for up to a minute, because only two copies of a namespace
 * are made concurrently.
 */
const MAX_ATTEMPTS = 300;
const RETRY_DELAY_MS = 200;

/** Time for which a stream is read. */
const STREAM_MS = 30;

/** A request with a wrong response. */
export interface Finding {
  request: Request;
  label: string;
  status: number;
  text: string;
  problems: string[];
}

/** Sends requests to one server and records the responses. */
export class Session {
  readonly findings: Finding[] = [];
  readonly ledger = new Ledger();
  /** Number of responses by operation and status. Requests with other methods are counted separately. */
  readonly counts = new Map<string, Map<number, number>>();
  readonly #port: () => number;
  readonly #knownValues = new KnownValues();
  readonly #requestIds = new Set<string>();
  #tick = 0;

  constructor(port: () => number) {
    this.#port = port;
  }

  /** Sends a request, checks the response, and records the acknowledged write. */
  async send(plan: Plan): Promise<void> {
    const request = this.#getRequest(plan);
    const bytes = request.body === undefined ? undefined : Buffer.from(request.body as string);
    const span: Span = { start: ++this.#tick, end: 0 };
    // An import reports only counts, not the ids of stored memories.
    if (/^POST \/imports?$/.test(plan.operation.name)) this.ledger.uncertain(getContents(bytes));
    let answer: Answer;
    try {
      answer = await this.#sendWithRetries(plan.operation, request);
    } catch (error) {
      this.#addFinding(plan, request, { status: 0, text: '' }, [`no response: ${String(error)}`]);
      this.ledger.uncertain(getContents(bytes));
      return;
    }
    span.end = ++this.#tick;
    this.#count(plan.method === plan.operation.method ? plan.operation.name : 'other methods', answer.status);
    const problems = findProblems(plan, { ...(bytes && { body: bytes }) }, answer);
    const requestId = String(answer.headers['x-request-id']);
    if (this.#requestIds.has(requestId)) problems.push('the request id was already used');
    this.#requestIds.add(requestId);
    this.#addFinding(plan, request, answer, problems);
    if (answer.status === 200 && request.method === plan.operation.method)
      this.#record(plan.operation, request, bytes, answer, span);
  }

  #addFinding(
    { label }: Plan,
    request: Request,
    { status, text }: Pick<Answer, 'status' | 'text'>,
    problems: string[],
  ): void {
    if (problems.length > 0) this.findings.push({ request, label, status, text: text.slice(0, 1000), problems });
  }

  #getRequest({ operation, method, path, headers, body, chunked = false }: Plan): Request {
    const fill = (text: string, encode?: (value: string) => string) =>
      this.#knownValues.fill(text, operation.name, encode);
    const filled = Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value : fill(value)]);
    return {
      method,
      path: fill(path, encodeURIComponent),
      headers: Object.fromEntries(filled),
      ...(body !== undefined && { body: typeof body === 'string' ? fill(body) : body, chunked }),
    };
  }

  async #sendWithRetries(operation: Operation, request: Request): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#exchange(operation, request);
      if (answer.status !== 503 || attempt === MAX_ATTEMPTS || answer.headers['retry-after'] === undefined)
        return answer;
      this.#count(operation.name, 503);
      await delay(RETRY_DELAY_MS);
    }
  }

  async #exchange(operation: Operation, request: Request): Promise<Answer> {
    const isStream = operation.responses.get(200)?.has('text/event-stream') && request.method === 'GET';
    try {
      return isStream ? await readStream(this.#port(), request) : await send(this.#port(), request);
    } catch (error) {
      // The service closed this keep-alive connection after the previous request. Other keep-alive connections may be closed
      // too, so the request is repeated on a new one.
      if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
      return send(this.#port(), { ...request, headers: { ...request.headers, connection: 'close' } });
    }
  }

  #count(name: string, status: number): void {
    const counts = this.counts.get(name) ?? new Map<number, number>();
    this.counts.set(name, counts.set(status, (counts.get(status) ?? 0) + 1));
  }

  #record({ name }: Operation, request: Request, bytes: Buffer | undefined, answer: Answer, span: Span): void {
    const { next_cursor } = answer.body as { next_cursor?: string };
    if (next_cursor !== undefined) this.#knownValues.add(`cursor ${name}`, next_cursor);
    const url = new URL(request.path, 'http://127.0.0.1');
    const id = decodeURIComponent(url.pathname.split('/')[2] ?? '');
    switch (name) {
      case 'POST /store':
        this.#recordStored((answer.body as StoreResponse).id, () =>
          this.ledger.stored(
            answer.body as StoreResponse,
            JSON.parse(getText(bytes)),
            span,
            hasIdempotencyKey(request),
          ),
        );
        break;
      case 'POST /store/batch': {
        const batch = answer.body as StoreBatchResponse;
        this.ledger.storedBatch(batch, getItems(request, getText(bytes)), span, hasIdempotencyKey(request));
        for (const result of batch.results) if ('id' in result) this.#knownValues.add('memory', result.id);
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
        this.ledger.forgottenMany(
          {
            ...Object.fromEntries(url.searchParams),
            ids: url.searchParams.getAll('id'),
            tags: url.searchParams.getAll('tag'),
          },
          span,
        );
        break;
      case 'PATCH /memories': {
        const session = url.searchParams.get('session_id') ?? undefined;
        this.ledger.changedMany(session, JSON.parse(getText(bytes)), span);
        this.#knownValues.add('change', (answer.body as UpdateManyResponse).change_id);
        break;
      }
      case 'POST /consolidate': {
        const { id: run } = answer.body as ConsolidateResponse;
        if (run !== undefined) this.#knownValues.add('consolidation', run);
        break;
      }
      case 'POST /imports':
        this.#knownValues.add('import', (answer.body as ImportTextsResponse).import_id);
        break;
      case 'GET /events':
        for (const [, event = ''] of answer.text.matchAll(/^id: (.*)$/gm)) this.#knownValues.add('event', event);
        break;
    }
  }

  #recordStored(id: string, record: () => void): void {
    record();
    this.#knownValues.add('memory', id);
  }

  /** Compares all stored memories with the acknowledged writes. Returns a sentence for each problem. */
  async audit(): Promise<string[]> {
    const memories = await this.#listMemories();
    const problems = [...memories].flatMap(([id, memory]) => this.ledger.findProblems(id, memory));
    for (const id of this.ledger.ids) {
      if (memories.has(id)) continue;
      // The list omits merged duplicates.
      const answer = await send<Memory>(this.#port(), { path: `/memories/${id}` });
      problems.push(...this.ledger.findProblems(id, answer.status === 200 ? answer.body : undefined));
    }
    return problems;
  }

  async #listMemories(): Promise<Map<string, Memory>> {
    const memories = new Map<string, Memory>();
    for (let cursor = ''; ; ) {
      const answer = await send<{ memories: Memory[]; next_cursor?: string }>(this.#port(), {
        path: `/memories?limit=500${cursor}`,
      });
      for (const memory of answer.body.memories) memories.set(memory.id, memory);
      if (answer.body.next_cursor === undefined) return memories;
      cursor = `&cursor=${encodeURIComponent(answer.body.next_cursor)}`;
    }
  }
}

/** Reads the beginning of a stream, or the whole response if it is not a stream. */
async function readStream(port: number, request: Request): Promise<Answer> {
  const reader = await openStream(port, request.path, request.headers);
  const text = reader.status === 200 ? '' : await reader.ended.then(() => reader.text());
  if (reader.status === 200) await delay(STREAM_MS);
  const received = text || reader.text();
  reader.leave();
  const isJson = /^application\/json\b/.test(reader.headers['content-type'] ?? '');
  return {
    status: reader.status,
    headers: reader.headers,
    bytes: Buffer.from(received),
    text: received,
    body: isJson ? JSON.parse(received) : received,
  };
}

function getText(bytes: Buffer | undefined): string {
  return new TextDecoder().decode(bytes);
}

/** Returns the items of a batch by index; `undefined` for an invalid line. */
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

function getContents(bytes: Buffer | undefined): string[] {
  return [
    ...getText(bytes).matchAll(/"content":("(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")/gu),
  ].map(([, json = '""']) => JSON.parse(json) as string);
}

function hasIdempotencyKey({ headers = {} }: Request): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === 'idempotency-key');
}
