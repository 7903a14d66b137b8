import type {
  ConsolidateRequest,
  ConsolidateResponse,
  ConsolidationRequest,
  ConsolidationResponse,
  ConsolidationsRequest,
  ConsolidationsResponse,
  EventsRequest,
  ForgetManyRequest,
  ForgetManyResponse,
  ForgetResponse,
  HealthResponse,
  HistoryRequest,
  HistoryResponse,
  ImportResponse,
  MemoriesRequest,
  MemoriesResponse,
  Memory,
  MemoryApi,
  MemoryEvent,
  MemoryScope,
  OwnScopeRequest,
  RecallRequest,
  RecallResponse,
  RootResponse,
  Scopable,
  ScopeRequest,
  SessionRequest,
  SessionResponse,
  SessionsRequest,
  SessionsResponse,
  StatsResponse,
  StoreBatchRequest,
  StoreBatchResponse,
  StoreOptions,
  StoreRequest,
  StoreResponse,
  UndoResponse,
  UpdateRequest,
  UpdateResponse,
  UsersRequest,
  UsersResponse,
  WriteCondition,
} from '@memoryd/contract';
import { pathTo, queryString } from './address.ts';
import { follow } from './event-stream.ts';
import { toJsonBody } from './json-body.ts';
import { getBody } from './line-body.ts';
import { getError, MemoryError, notOurs, unsendable } from './memory-error.ts';
import { OPERATIONS, type Operation } from './operations.ts';
import { getLines, getPieces } from './pieces.ts';
import { type Arrival, type CallOptions, type Sending, Transport, type TransportOptions } from './transport.ts';
import { VERSION } from './version.ts';
import { withScope } from './with-scope.ts';

export interface MemoryClientOptions extends TransportOptions {
  /** Told of a service whose version this client was not made for; `console.warn` where absent, or where it throws. */
  onWarning?: (message: string) => void;
  /** Milliseconds for which a broken stream of events tries to come back; 600,000 where absent. */
  reconnectTimeoutMs?: number;
}

/** What a request has beside its operation. */
type Details = Partial<Pick<Sending, 'repeatable' | 'alsoStatus'>> & {
  /** Path with its parameter filled in. */
  path?: string;
  query?: object | undefined;
  headers?: Record<string, string> | undefined;
  body?: unknown;
};

/**
 * A memory service behind a URL. Beside what `MemoryApi` says, each call takes a signal and a time limit as its last
 * argument, and rejects with the `MemoryError` of this package. Reads, stores and unconditional writes are tried again
 * when no answer comes; what the service refuses with 429 or 503 and `Retry-After` always is. A write that may not be
 * done twice rejects with UNAVAILABLE when no answer came: it may have been done.
 *
 * Ids that no URL can name (`.` and `..`) are not found, or are INVALID_REQUEST where they are a session's.
 */
export class MemoryClient implements MemoryApi {
  readonly #transport: Transport;
  readonly #onWarning: (message: string) => void;
  readonly #reconnectTimeoutMs: number;
  #versionCheck: Promise<void> | undefined;

  constructor({ onWarning, reconnectTimeoutMs = 600_000, ...transport }: MemoryClientOptions = {}) {
    this.#transport = new Transport(transport);
    this.#onWarning = onWarning ?? warn;
    this.#reconnectTimeoutMs = reconnectTimeoutMs;
  }

  /**
   * Stores with an idempotency key of its own where none is given, so that it can be tried again. Keys are visible ASCII
   * characters, with blanks only between them.
   */
  async store(request: StoreRequest, options: StoreOptions & CallOptions = {}): Promise<StoreResponse> {
    return this.#json(OPERATIONS.store, options, { body: request, headers: keyHeader(options), repeatable: true });
  }

  /** With an idempotency key, as `store`. */
  async storeBatch(requests: StoreBatchRequest, options: StoreOptions & CallOptions = {}): Promise<StoreBatchResponse> {
    return this.#json(OPERATIONS.storeBatch, options, {
      body: requests,
      headers: keyHeader(options),
      repeatable: true,
    });
  }

  async recall(request: RecallRequest, call: CallOptions = {}): Promise<RecallResponse> {
    return this.#json(OPERATIONS.recall, call, { query: request });
  }

  async session({ session_id, ...page }: SessionRequest, call: CallOptions = {}): Promise<SessionResponse> {
    const path = pathTo(OPERATIONS.session.path, session_id);
    if (path === undefined) throw unsendable('session_id', 'be a text that a URL can name');
    return this.#json(OPERATIONS.session, call, { path, query: page });
  }

  async sessions(request: SessionsRequest, call: CallOptions = {}): Promise<SessionsResponse> {
    return this.#json(OPERATIONS.sessions, call, { query: request });
  }

  async users(request: UsersRequest = {}, call: CallOptions = {}): Promise<UsersResponse> {
    return this.#json(OPERATIONS.users, call, { query: request });
  }

  async memory(memoryId: string, options: ScopeRequest & CallOptions = {}): Promise<Memory> {
    const path = getPath(OPERATIONS.memory, memoryId);
    return this.#json(OPERATIONS.memory, options, { path, query: pickScope(options) });
  }

  async history(memoryId: string, request: HistoryRequest = {}, call: CallOptions = {}): Promise<HistoryResponse> {
    return this.#json(OPERATIONS.history, call, { path: getPath(OPERATIONS.history, memoryId), query: request });
  }

  async memories(request: MemoriesRequest, call: CallOptions = {}): Promise<MemoriesResponse> {
    return this.#json(OPERATIONS.memories, call, { query: request });
  }

  /** With a condition it is not tried again when no answer comes: it would meet the version that it made itself. */
  async update(
    memoryId: string,
    request: UpdateRequest,
    options: WriteCondition & CallOptions = {},
  ): Promise<UpdateResponse> {
    return this.#json(OPERATIONS.update, options, {
      path: getPath(OPERATIONS.update, memoryId),
      query: pickScope(options),
      body: request,
      ...conditional(options),
    });
  }

  /** NOT_FOUND also where an earlier attempt, of which no answer came, forgot it. With a condition, as `update`. */
  async forget(memoryId: string, options: WriteCondition & CallOptions = {}): Promise<ForgetResponse> {
    return this.#json(OPERATIONS.forget, options, {
      path: getPath(OPERATIONS.forget, memoryId),
      query: pickScope(options),
      ...conditional(options),
    });
  }

  async forgetMany(request: ForgetManyRequest, call: CallOptions = {}): Promise<ForgetManyResponse> {
    return this.#json(OPERATIONS.forgetMany, call, { query: request });
  }

  async consolidate(request: ConsolidateRequest = {}, call: CallOptions = {}): Promise<ConsolidateResponse> {
    return this.#json(OPERATIONS.consolidate, call, { query: request, repeatable: request.dry_run === true });
  }

  async consolidations(request: ConsolidationsRequest, call: CallOptions = {}): Promise<ConsolidationsResponse> {
    return this.#json(OPERATIONS.consolidations, call, { query: request });
  }

  async consolidation({ id, ...page }: ConsolidationRequest, call: CallOptions = {}): Promise<ConsolidationResponse> {
    return this.#json(OPERATIONS.consolidation, call, { path: getPath(OPERATIONS.consolidation, id), query: page });
  }

  async undo(consolidationId: string, call: CallOptions = {}): Promise<UndoResponse> {
    return this.#json(OPERATIONS.undo, call, { path: getPath(OPERATIONS.undo, consolidationId) });
  }

  async stats(options: ScopeRequest & CallOptions = {}): Promise<StatsResponse> {
    return this.#json(OPERATIONS.stats, options, { query: pickScope(options) });
  }

  /** See `Scopable`. */
  scope(scope: MemoryScope): Scopable<MemoryClient> {
    return withScope<MemoryClient>(this).scope(scope);
  }

  /** Status, version and counts by tier. */
  async root(call: CallOptions = {}): Promise<RootResponse> {
    return this.#json(OPERATIONS.root, call);
  }

  /** Whether the service can answer; needs no key. An unhealthy one answers too, if it can. */
  async health(call: CallOptions = {}): Promise<HealthResponse> {
    return this.#checked(this.#health(call));
  }

  /** Samples in the plain exposition format, one a line. */
  async metrics(call: CallOptions = {}): Promise<string> {
    return this.#checked(this.#send(OPERATIONS.metrics, call, {}, ({ response }) => response.text()));
  }

  /**
   * As `MemoryApi` says, from the first step on. A stream that breaks, or that the service ends, goes on after the last
   * event that was seen; a `gap` tells that some may be missing. It ends with the signal, and throws when the service
   * refuses it or stays away too long.
   */
  events(request: EventsRequest = {}, signal?: AbortSignal): AsyncGenerator<MemoryEvent, void, undefined> {
    const { last_event_id: seen, ...query } = request;
    const call: CallOptions = signal ? { signal } : {};
    return follow({
      open: (after) => this.#openEvents(query, after, call),
      seen,
      signal,
      retryDelayMs: this.#transport.retryDelayMs,
      reconnectTimeoutMs: this.#reconnectTimeoutMs,
    });
  }

  /** As `MemoryApi` says. An export that is cut off throws UNAVAILABLE; one that has begun is not asked for again. */
  exportMemories(request: ScopeRequest = {}, signal?: AbortSignal): AsyncGenerator<string, void, undefined> {
    return getLines(this.#pieces(OPERATIONS.exportMemories, signal, request));
  }

  /**
   * As `MemoryApi` says, and never made again by itself. Its lines are sent as they come, except by web pages, which cannot
   * and gather them first; no more of them are read once the call is over. What the lines throw, it throws.
   */
  async importMemories(
    lines: AsyncIterable<Uint8Array>,
    options: OwnScopeRequest & CallOptions = {},
  ): Promise<ImportResponse> {
    const { body, failure, end } = await getBody(lines);
    try {
      return await this.#json(OPERATIONS.importMemories, options, { query: pickScope(options), body });
    } catch (error) {
      throw failure() ?? error;
    } finally {
      end();
    }
  }

  /** A copy of the whole database, all namespaces: the bytes of an SQLite file. Throws when it is cut off. */
  backup(signal?: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    return this.#pieces(OPERATIONS.backup, signal);
  }

  /** An answer that may be of any length, as it arrives. */
  async *#pieces(
    operation: Operation,
    signal?: AbortSignal,
    query: object = {},
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const arriving = this.#send(operation, signal ? { signal } : {}, { query }, async (begun) => {
      begun.lift();
      return begun;
    });
    yield* getPieces(await this.#checked(arriving), SILENCE_MS);
  }

  async #openEvents(query: object, seen: string | undefined, call: CallOptions): Promise<Arrival> {
    const headers = { Accept: 'text/event-stream', ...(seen !== undefined && { 'Last-Event-ID': seen }) };
    const arriving = this.#send(OPERATIONS.events, call, { query, headers }, async (arrival) => {
      arrival.lift();
      return arrival;
    });
    return this.#checked(arriving);
  }

  async #json<T extends object>(operation: Operation, call: CallOptions, details: Details = {}): Promise<T> {
    return this.#checked(this.#send(operation, call, details, ({ response }) => readJson<T>(response)));
  }

  #send<T>(
    { method, path, slow, answers }: Operation,
    call: CallOptions,
    { path: filled = path, query = {}, body, headers, repeatable = method === 'GET', alsoStatus }: Details,
    read: (arrival: Arrival) => Promise<T>,
  ): Promise<T> {
    for (const request of [query, ...[body].flat()]) assertOwnerGiven(request);
    const sending: Sending = {
      method,
      path: filled + queryString(query),
      repeatable,
      slow,
      answers,
      ...(headers && { headers }),
      ...(body !== undefined && { body: isStreamed(body) ? body : toJsonBody(body) }),
      ...(alsoStatus !== undefined && { alsoStatus }),
    };
    return this.#transport.send(sending, call, read);
  }

  #health(call: CallOptions): Promise<HealthResponse> {
    return this.#send(OPERATIONS.health, call, { alsoStatus: 503 }, ({ response }) => readHealth(response));
  }

  /** An answer, after the first of which the service's version is asked for: nothing may go on where none comes. */
  async #checked<T>(answering: Promise<T>): Promise<T> {
    const answer = await answering;
    this.#checkVersion();
    return answer;
  }

  #checkVersion(): void {
    this.#versionCheck ??= this.#health({ timeoutMs: VERSION_TIMEOUT_MS }).then(
      ({ version }) => {
        if (!version || getMinor(version) === getMinor(VERSION)) return undefined;
        return this.#warn(`@memoryd/client ${VERSION} talks to memoryd ${version}; use matching versions`);
      },
      () => {
        // The call itself tells what is wrong with the service; the next one asks again.
        this.#versionCheck = undefined;
      },
    );
  }

  // The warning belongs to no call that could reject: a rejection that nobody handles would end the process.
  async #warn(message: string): Promise<void> {
    try {
      await this.#onWarning(message);
    } catch (error) {
      warn(message, error);
    }
  }
}

function warn(...warning: unknown[]): void {
  // biome-ignore lint/suspicious/noConsole: where nobody listens, a warning belongs on the console
  console.warn(...warning);
}

/** Longest wait for the version of a service that has just answered. */
const VERSION_TIMEOUT_MS = 5000;

/** Milliseconds without a byte after which a download is dead. */
const SILENCE_MS = 60_000;

function isStreamed(body: unknown): body is ReadableStream<Uint8Array> | Blob {
  return body instanceof ReadableStream || body instanceof Blob;
}

function getMinor(version: string): string {
  return version.split('.', 2).join('.');
}

async function readJson<T extends object>(response: Response): Promise<T> {
  const answer = getObject<T>(await response.text());
  if (!answer) throw notOurs(response, 'a JSON object');
  return answer;
}

/** What a service says of itself. Others say 503 too: a proxy that cannot reach it, and a service that refuses. */
async function readHealth(response: Response): Promise<HealthResponse> {
  if (response.ok) return readJson(response);
  const text = await response.text();
  const answer = getObject<HealthResponse>(text);
  if (answer?.status !== 'unhealthy') throw getError(response, text);
  return answer;
}

function getObject<T extends object>(text: string): T | undefined {
  try {
    const answer = JSON.parse(text);
    return typeof answer === 'object' && answer ? answer : undefined;
  } catch {
    return undefined;
  }
}

// NOT_FOUND, as for any id that the service never gave.
function getPath({ path }: Operation, id: string): string {
  const filled = pathTo(path, id);
  if (filled === undefined) throw new MemoryError('NOT_FOUND', 'no URL can name this id, so nothing has it');
  return filled;
}

function keyHeader({ idempotencyKey = newKey() }: StoreOptions): Record<string, string> {
  if (!/^[!-~]([ -~]*[!-~])?$/.test(idempotencyKey)) {
    throw unsendable('Idempotency-Key', 'be visible ASCII characters, with blanks only between them');
  }
  return { 'Idempotency-Key': idempotencyKey };
}

// crypto.randomUUID is only there in secure contexts, which a page on a local network is not.
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Refuses an id that a request names and that is undefined: without it, the request would be about everyone. */
function assertOwnerGiven(request: unknown): void {
  if (typeof request !== 'object' || request === null) return;
  for (const field of ['user_id', 'agent_id'] as const) {
    if (!(field in request) || (request as ScopeRequest)[field] !== undefined) continue;
    throw unsendable(field, 'not be undefined; leave it out to name none');
  }
}

/** Returns what a call is limited to, of its options. */
function pickScope(options: ScopeRequest): ScopeRequest {
  assertOwnerGiven(options);
  const { user_id, agent_id, shared } = options;
  return {
    ...(user_id !== undefined && { user_id }),
    ...(agent_id !== undefined && { agent_id }),
    ...(shared !== undefined && { shared }),
  };
}

/** Version 0 is one that no memory has: a list without versions would be no header. */
function conditional({ ifVersions }: WriteCondition): Pick<Details, 'headers' | 'repeatable'> {
  if (!ifVersions) return { repeatable: true };
  const tags = (ifVersions.length > 0 ? ifVersions : [0]).map((version) => `"${version}"`);
  return { headers: { 'If-Match': tags.join(', ') } };
}
