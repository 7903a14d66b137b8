import type {
  ConsolidateRequest,
  ConsolidateResponse,
  ConsolidationRequest,
  ConsolidationResponse,
  ConsolidationsRequest,
  ConsolidationsResponse,
  ContextRequest,
  ContextResponse,
  CorrectionsRequest,
  CorrectionsResponse,
  DecideCorrectionRequest,
  DecideCorrectionResponse,
  EventsRequest,
  ExportRequest,
  FacetsRequest,
  FacetsResponse,
  FileImportResponse,
  ForgetManyRequest,
  ForgetManyResponse,
  ForgetResponse,
  GrowthRequest,
  GrowthResponse,
  HealthResponse,
  HistoryRequest,
  HistoryResponse,
  ImportedText,
  ImportFileRequest,
  ImportFormat,
  ImportResponse,
  ImportsRequest,
  ImportsResponse,
  ImportTextsRequest,
  ImportTextsResponse,
  MapRequest,
  MapResponse,
  MemoriesRequest,
  MemoriesResponse,
  Memory,
  MemoryApi,
  MemoryChanges,
  MemoryEvent,
  MemoryScope,
  MemorySelection,
  OwnScopeRequest,
  RecallRequest,
  RecallResponse,
  RecallsRequest,
  RecallsResponse,
  RelatedRequest,
  RelatedResponse,
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
  UndoChangeResponse,
  UndoImportResponse,
  UndoRequest,
  UndoResponse,
  UpdateManyResponse,
  UpdateRequest,
  UpdateResponse,
  UsersRequest,
  UsersResponse,
  WriteCondition,
} from '@memoryd/contract';
import { toPath, toQueryString } from './address.ts';
import { readChunks, readLines } from './chunks.ts';
import { readEvents } from './event-stream.ts';
import { createIdempotencyKey } from './idempotency-key.ts';
import { toJsonBody } from './json-body.ts';
import { createChunkBody, createLineBody, type StreamedBody, toBlob } from './line-body.ts';
import { createFieldError, toError } from './memory-error.ts';
import { OPERATIONS, type Operation } from './operations.ts';
import { parseObject, readJson } from './response-body.ts';
import {
  type CallOptions,
  type OpenResponse,
  Transport,
  type TransportOptions,
  type TransportRequest,
} from './transport.ts';
import { VERSION } from './version.ts';
import { withScope } from './with-scope.ts';

export interface MemoryClientOptions extends TransportOptions {
  /**
   * Receives a warning if the major or minor version of the service differs from the client's. Defaults to
   * `console.warn`.
   */
  onWarning?: (message: string) => void;
  /** Time in ms for which the client tries to reopen a broken event stream. Defaults to 600,000. */
  reconnectTimeoutMs?: number;
}

/** A file to import: its bytes, or their chunks in order. */
export type ImportedFile = Uint8Array | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** The parts of a request that its operation does not define. */
type RequestParts = Partial<Pick<TransportRequest, 'repeatable' | 'acceptedStatus'>> & {
  /** Value of the parameter in the path. */
  id?: string;
  query?: object | undefined;
  headers?: Record<string, string> | undefined;
  body?: unknown;
};

/**
 * Client of a memory service. Implements `MemoryApi`. The last argument of a call can contain a signal and, if the call
 * returns a promise, a timeout. Calls reject with the `MemoryError` of this package.
 *
 * All calls except imports are retried after 429, and after 503 with `Retry-After`. Reads, stores, dry runs of
 * `consolidate`, `updateMany`, `undoChange`, `undoImport`, and `update` and `forget` without `ifVersions` are also retried
 * if no response arrives, and after any 502, 503 or 504. If no response to another call arrives, the call rejects with
 * UNAVAILABLE, although the service may have executed the call.
 *
 * Ids that cannot be encoded in a URL (`.` and `..`) reject with NOT_FOUND, or with INVALID_REQUEST for session ids.
 *
 * @example
 * const memory = new MemoryClient({ url: 'http://127.0.0.1:8090' }).scope({ userId: 'ada' });
 * await memory.store({ content: 'Ada is allergic to peanuts' });
 * const { results } = await memory.recall({ query: 'Can Ada eat peanut butter?' });
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
   * Stores a memory. Generates an idempotency key if the options contain no key, so that retries are safe. Keys consist
   * of printable ASCII characters without leading or trailing spaces.
   */
  async store(request: StoreRequest, options: StoreOptions & CallOptions = {}): Promise<StoreResponse> {
    return this.#json(OPERATIONS.store, options, {
      query: { similar: options.similar },
      body: request,
      headers: toIdempotencyHeader(options),
      repeatable: true,
    });
  }

  /** Stores many memories. Generates an idempotency key like `store`. */
  async storeBatch(requests: StoreBatchRequest, options: StoreOptions & CallOptions = {}): Promise<StoreBatchResponse> {
    return this.#json(OPERATIONS.storeBatch, options, {
      query: { similar: options.similar },
      body: requests,
      headers: toIdempotencyHeader(options),
      repeatable: true,
    });
  }

  async recall(request: RecallRequest, call: CallOptions = {}): Promise<RecallResponse> {
    // A filter may be too long for a URL.
    if (request.filter !== undefined) {
      return this.#json(OPERATIONS.recallByBody, call, { body: request, repeatable: true });
    }
    return this.#json(OPERATIONS.recall, call, { query: request });
  }

  /**
   * Returns what an agent should know now. A call that gives memories once in a session is not retried if no response
   * arrives: the service remembers what the lost response gave.
   */
  async context(request: ContextRequest, call: CallOptions = {}): Promise<ContextResponse> {
    const isRepeatable = request.once === false || (request.session_id === undefined && !request.once);
    return this.#json(OPERATIONS.context, call, { body: request, repeatable: isRepeatable });
  }

  async session({ session_id, ...page }: SessionRequest, call: CallOptions = {}): Promise<SessionResponse> {
    return this.#json(OPERATIONS.session, call, { id: session_id, query: page });
  }

  async sessions(request: SessionsRequest, call: CallOptions = {}): Promise<SessionsResponse> {
    return this.#json(OPERATIONS.sessions, call, { query: request });
  }

  async users(request: UsersRequest = {}, call: CallOptions = {}): Promise<UsersResponse> {
    return this.#json(OPERATIONS.users, call, { query: request });
  }

  async memory(memoryId: string, options: ScopeRequest & CallOptions = {}): Promise<Memory> {
    return this.#json(OPERATIONS.memory, options, { id: memoryId, query: pickScope(options) });
  }

  async history(memoryId: string, request: HistoryRequest = {}, call: CallOptions = {}): Promise<HistoryResponse> {
    return this.#json(OPERATIONS.history, call, { id: memoryId, query: request });
  }

  async memories(request: MemoriesRequest, call: CallOptions = {}): Promise<MemoriesResponse> {
    return this.#json(OPERATIONS.memories, call, { query: request });
  }

  async facets(request: FacetsRequest, call: CallOptions = {}): Promise<FacetsResponse> {
    return this.#json(OPERATIONS.facets, call, { query: request });
  }

  async growth(request: GrowthRequest, call: CallOptions = {}): Promise<GrowthResponse> {
    return this.#json(OPERATIONS.growth, call, { query: request });
  }

  async map(request: MapRequest = {}, call: CallOptions = {}): Promise<MapResponse> {
    return this.#json(OPERATIONS.map, call, { query: request });
  }

  async related(memoryId: string, request: RelatedRequest = {}, call: CallOptions = {}): Promise<RelatedResponse> {
    return this.#json(OPERATIONS.related, call, { id: memoryId, query: request });
  }

  async recalls(request: RecallsRequest = {}, call: CallOptions = {}): Promise<RecallsResponse> {
    return this.#json(OPERATIONS.recalls, call, { query: request });
  }

  /**
   * Changes a memory. A call with a condition is not retried if no response arrives: the first attempt may have changed
   * the version.
   */
  async update(
    memoryId: string,
    request: UpdateRequest,
    options: WriteCondition & CallOptions = {},
  ): Promise<UpdateResponse> {
    return this.#json(OPERATIONS.update, options, {
      id: memoryId,
      query: pickScope(options),
      body: request,
      ...toConditionParts(options),
    });
  }

  /** Changes many memories. Assigns a `change_id` if the changes contain none, so that retries are safe. */
  async updateMany(
    { ids, ...query }: MemorySelection,
    changes: MemoryChanges,
    call: CallOptions = {},
  ): Promise<UpdateManyResponse> {
    const change_id = changes.change_id ?? createIdempotencyKey();
    return this.#json(OPERATIONS.updateMany, call, {
      query,
      body: { ...(ids !== undefined && { ids }), ...changes, change_id },
      repeatable: true,
    });
  }

  /** Undoes a change. A repeated undo returns the same counts. */
  async undoChange(changeId: string, options: OwnScopeRequest & CallOptions = {}): Promise<UndoChangeResponse> {
    return this.#json(OPERATIONS.undoChange, options, {
      id: changeId,
      query: pickScope(options),
      repeatable: true,
    });
  }

  /**
   * Forgets a memory. Also rejects with NOT_FOUND if the first attempt has forgotten the memory and the response was
   * lost. A call with a condition is not retried if no response arrives.
   */
  async forget(memoryId: string, options: WriteCondition & CallOptions = {}): Promise<ForgetResponse> {
    return this.#json(OPERATIONS.forget, options, {
      id: memoryId,
      query: pickScope(options),
      ...toConditionParts(options),
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
    return this.#json(OPERATIONS.consolidation, call, { id, query: page });
  }

  async undo(consolidationId: string, request: UndoRequest = {}, call: CallOptions = {}): Promise<UndoResponse> {
    return this.#json(OPERATIONS.undo, call, { id: consolidationId, query: request });
  }

  async corrections(request: CorrectionsRequest = {}, call: CallOptions = {}): Promise<CorrectionsResponse> {
    return this.#json(OPERATIONS.corrections, call, { query: request });
  }

  async decideCorrection(
    correctionId: string,
    request: DecideCorrectionRequest,
    options: OwnScopeRequest & CallOptions = {},
  ): Promise<DecideCorrectionResponse> {
    return this.#json(OPERATIONS.decideCorrection, options, {
      id: correctionId,
      query: pickScope(options),
      body: request,
      repeatable: true,
    });
  }

  async stats(options: ScopeRequest & CallOptions = {}): Promise<StatsResponse> {
    return this.#json(OPERATIONS.stats, options, { query: pickScope(options) });
  }

  /** See `Scopable`. */
  scope(scope: MemoryScope): Scopable<MemoryClient> {
    return withScope<MemoryClient>(this).scope(scope);
  }

  /** Returns the status and version of the service, and the number of memories by tier. */
  async root(call: CallOptions = {}): Promise<RootResponse> {
    return this.#json(OPERATIONS.root, call);
  }

  /** Returns the health of the service. Needs no API key. Also resolves if the service reports that it is unhealthy. */
  async health(call: CallOptions = {}): Promise<HealthResponse> {
    return this.#withVersionCheck(this.#health(call));
  }

  /** Returns metrics in the Prometheus text format. */
  async metrics(call: CallOptions = {}): Promise<string> {
    return this.#withVersionCheck(this.#send(OPERATIONS.metrics, call, {}, ({ response }) => response.text()));
  }

  /**
   * Streams events as described in `MemoryApi`, starting with the first iteration. If the stream breaks or ends,
   * reconnects and continues after the last received event. A `gap` event means that events may be missing. Ends when
   * the signal is aborted. Throws if the service rejects the stream, if the first connection fails, or if reconnecting
   * fails for `reconnectTimeoutMs`. Calls `onOpen` each time the service has accepted the stream.
   */
  events(
    request: EventsRequest = {},
    signal?: AbortSignal,
    onOpen?: () => void,
  ): AsyncGenerator<MemoryEvent, void, undefined> {
    const { last_event_id: lastEventId, ...query } = request;
    const call: CallOptions = signal ? { signal } : {};
    return readEvents({
      open: async (after) => {
        const stream = await this.#openEvents(query, after, call);
        onOpen?.();
        return stream;
      },
      lastEventId,
      signal,
      retryDelayMs: this.#transport.retryDelayMs,
      reconnectTimeoutMs: this.#reconnectTimeoutMs,
    });
  }

  /** Exports memories. A truncated export throws UNAVAILABLE. An export that has started is not retried. */
  exportMemories(request: ExportRequest = {}, signal?: AbortSignal): AsyncGenerator<string, void, undefined> {
    return readLines(this.#download(OPERATIONS.exportMemories, signal, request));
  }

  /**
   * Imports memories. Never retried. The lines are streamed. In a browser, the client collects all lines before
   * sending. No line is read after the call has ended. Errors from reading `lines` are rethrown.
   */
  async importMemories(
    lines: AsyncIterable<Uint8Array>,
    options: OwnScopeRequest & CallOptions = {},
  ): Promise<ImportResponse> {
    return this.#sendLines(OPERATIONS.importMemories, options, pickScope(options), lines);
  }

  /**
   * Imports texts. Never retried; a call with the same texts continues an interrupted import. The texts are streamed. In
   * a browser, the client collects all texts before sending. No text is read after the call has ended. Errors from
   * reading `texts` are rethrown. A large import may need a longer `timeoutMs`.
   */
  async importTexts(
    texts: AsyncIterable<ImportedText>,
    request: ImportTextsRequest,
    call: CallOptions = {},
  ): Promise<ImportTextsResponse> {
    return this.#sendLines(OPERATIONS.importTexts, call, request, toLines(texts));
  }

  /**
   * Imports a file that another program exported, such as a zip with conversations, as it is. The service recognizes the
   * format with `from: 'auto'`; the result of a file that turns out to be an export of memoryd is that of
   * `importMemories`. Without `from`, the file must be an export of memoryd. `dry_run` returns what an import would do.
   * Never retried; a call with the same file continues an interrupted import. Chunks are streamed as in `importTexts`. A
   * large file may need a longer `timeoutMs`.
   *
   * @example
   * const file = await openAsBlob('chatgpt-export.zip');
   * const { found_count, left_out } = await memory.importFile(file, { from: 'chatgpt', dry_run: true });
   */
  async importFile(
    file: ImportedFile,
    request: ImportFileRequest & { from: Exclude<ImportFormat, 'memoryd'> },
    call?: CallOptions,
  ): Promise<FileImportResponse>;
  async importFile(
    file: ImportedFile,
    request?: ImportFileRequest,
    call?: CallOptions,
  ): Promise<ImportResponse | FileImportResponse>;
  async importFile(
    file: ImportedFile,
    request: ImportFileRequest = {},
    call: CallOptions = {},
  ): Promise<ImportResponse | FileImportResponse> {
    const parts = { query: request, headers: { 'Content-Type': 'application/octet-stream' } };
    const body = file instanceof Uint8Array ? toBlob([file]) : file;
    if (isStream(body)) return this.#json(OPERATIONS.importMemories, call, { ...parts, body });
    return this.#sendStream(OPERATIONS.importMemories, call, parts, await createChunkBody(body));
  }

  async imports(request: ImportsRequest = {}, call: CallOptions = {}): Promise<ImportsResponse> {
    return this.#json(OPERATIONS.imports, call, { query: request });
  }

  /**
   * Undoes an import. Also rejects with NOT_FOUND if the first attempt has undone the import and the response was lost.
   */
  async undoImport(importId: string, options: OwnScopeRequest & CallOptions = {}): Promise<UndoImportResponse> {
    return this.#json(OPERATIONS.undoImport, options, {
      id: importId,
      query: pickScope(options),
      repeatable: true,
    });
  }

  /** Downloads a copy of the database with all namespaces, as an SQLite file. Throws if the download is cut off. */
  backup(signal?: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    return this.#download(OPERATIONS.backup, signal);
  }

  /** Streams lines to an operation. */
  async #sendLines<T extends object>(
    operation: Operation,
    call: CallOptions,
    query: object,
    lines: AsyncIterable<Uint8Array>,
  ): Promise<T> {
    return this.#sendStream(operation, call, { query }, await createLineBody(lines));
  }

  /** Sends a body that is read meanwhile. Rethrows an error from reading it. */
  async #sendStream<T extends object>(
    operation: Operation,
    call: CallOptions,
    parts: RequestParts,
    { body, getError, end }: StreamedBody,
  ): Promise<T> {
    try {
      return await this.#json<T>(operation, call, { ...parts, body });
    } catch (error) {
      throw getError() ?? error;
    } finally {
      end();
    }
  }

  /** Streams a response of any length. */
  async *#download(
    operation: Operation,
    signal?: AbortSignal,
    query: object = {},
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const opening = this.#send(operation, signal ? { signal } : {}, { query }, keepOpen);
    yield* readChunks(await this.#withVersionCheck(opening), SILENCE_MS);
  }

  async #openEvents(query: object, lastEventId: string | undefined, call: CallOptions): Promise<OpenResponse> {
    const headers = {
      Accept: 'text/event-stream',
      ...(lastEventId !== undefined && { 'Last-Event-ID': lastEventId }),
    };
    return this.#withVersionCheck(this.#send(OPERATIONS.events, call, { query, headers }, keepOpen));
  }

  async #json<T extends object>(operation: Operation, call: CallOptions, parts: RequestParts = {}): Promise<T> {
    return this.#withVersionCheck(this.#send(operation, call, parts, ({ response }) => readJson<T>(response)));
  }

  #send<T>(
    { method, path, slow, mediaType }: Operation,
    call: CallOptions,
    { id, query = {}, body, headers, repeatable = method === 'GET', acceptedStatus }: RequestParts,
    read: (open: OpenResponse) => Promise<T>,
  ): Promise<T> {
    for (const part of [query, ...[body].flat()]) assertOwnerDefined(part);
    const request: TransportRequest = {
      method,
      path: toPath(path, id) + toQueryString(query),
      repeatable,
      slow,
      mediaType,
      ...(headers && { headers }),
      ...(body !== undefined && { body: isStream(body) ? body : toJsonBody(body) }),
      ...(acceptedStatus !== undefined && { acceptedStatus }),
    };
    return this.#transport.send(request, call, read);
  }

  #health(call: CallOptions): Promise<HealthResponse> {
    return this.#send(OPERATIONS.health, call, { acceptedStatus: 503 }, ({ response }) => readHealth(response));
  }

  /**
   * Awaits a call. After the first successful call, checks in the background that the versions of client and service
   * match.
   */
  async #withVersionCheck<T>(call: Promise<T>): Promise<T> {
    const result = await call;
    this.#checkVersion();
    return result;
  }

  #checkVersion(): void {
    this.#versionCheck ??= this.#health({ timeoutMs: VERSION_TIMEOUT_MS }).then(
      ({ version }) => {
        if (!version || getMinor(version) === getMinor(VERSION)) return undefined;
        return this.#warn(`@memoryd/client ${VERSION} talks to memoryd ${version}; use matching versions`);
      },
      () => {
        // After a failed check, the next call checks the version again.
        this.#versionCheck = undefined;
      },
    );
  }

  // No call awaits the warning, so its errors are caught here: an unhandled rejection would end the process.
  async #warn(message: string): Promise<void> {
    try {
      await this.#onWarning(message);
    } catch (error) {
      warn(message, error);
    }
  }
}

function warn(...warning: unknown[]): void {
  // biome-ignore lint/suspicious/noConsole: warnings go to the console if no handler is set
  console.warn(...warning);
}

/** Timeout of the request that reads the service's version. */
const VERSION_TIMEOUT_MS = 5000;

/** Maximum time between two chunks of a download. */
const SILENCE_MS = 60_000;

async function keepOpen(open: OpenResponse): Promise<OpenResponse> {
  open.clearTimeout();
  return open;
}

function isStream(body: unknown): body is ReadableStream<Uint8Array> | Blob {
  return body instanceof ReadableStream || body instanceof Blob;
}

function getMinor(version: string): string {
  return version.split('.', 2).join('.');
}

/**
 * Reads a health response with status 200 or 503. Throws if the status is 503 and the body does not report `unhealthy`,
 * such as the page of a proxy or the error of a service that rejects the request.
 */
async function readHealth(response: Response): Promise<HealthResponse> {
  if (response.ok) return readJson(response);
  const text = await response.text();
  const health = parseObject<HealthResponse>(text);
  if (health?.status !== 'unhealthy') throw toError(response, text);
  return health;
}

function toIdempotencyHeader({ idempotencyKey = createIdempotencyKey() }: StoreOptions): Record<string, string> {
  if (!/^[!-~]([ -~]*[!-~])?$/.test(idempotencyKey)) {
    throw createFieldError(
      'Idempotency-Key',
      'be 1 to 255 printable ASCII characters without leading or trailing spaces',
    );
  }
  return { 'Idempotency-Key': idempotencyKey };
}

/**
 * Rejects an undefined `user_id` or `agent_id`: serialization would drop the field, and the request would affect all
 * users.
 */
function assertOwnerDefined(request: unknown): void {
  if (typeof request !== 'object' || request === null) return;
  for (const field of ['user_id', 'agent_id'] as const) {
    if (!(field in request) || (request as ScopeRequest)[field] !== undefined) continue;
    throw createFieldError(field, 'not be undefined; omit the field for requests without it');
  }
}

/** Serializes texts. Throws INVALID_REQUEST for a text that JSON cannot represent, or whose owner is undefined. */
async function* toLines(texts: AsyncIterable<ImportedText>): AsyncGenerator<Uint8Array, void, undefined> {
  const encoder = new TextEncoder();
  for await (const text of texts) {
    assertOwnerDefined(text);
    yield encoder.encode(toJsonBody(text));
  }
}

/** Returns the scope fields of the options. */
function pickScope(options: ScopeRequest): ScopeRequest {
  assertOwnerDefined(options);
  const { user_id, agent_id, shared } = options;
  return {
    ...(user_id !== undefined && { user_id }),
    ...(agent_id !== undefined && { agent_id }),
    ...(shared !== undefined && { shared }),
  };
}

/** Converts a condition to `If-Match`. An empty list becomes version 0, which no memory has. */
function toConditionParts({ ifVersions }: WriteCondition): Pick<RequestParts, 'headers' | 'repeatable'> {
  if (!ifVersions) return { repeatable: true };
  const tags = (ifVersions.length > 0 ? ifVersions : [0]).map((version) => `"${version}"`);
  return { headers: { 'If-Match': tags.join(', ') } };
}
