import type {
  ConsolidateResponse,
  HealthResponse,
  RecallResponse,
  RootResponse,
  StatsResponse,
  StoreBatchResponse,
  StoreRequest,
  StoreResponse,
} from '@memoryd/contract';
import { type Dispatcher, Pool } from 'undici';
import { assertAllStored } from './batches.ts';

// Ten minutes, because one consolidation request may process a million memories.
const REQUEST_TIMEOUT_MS = 600_000;
const MAX_ERROR_BODY_CHARS = 500;

/** The REST requests used by benchmarks. A request rejects unless the status of the response is 200. */
export interface HttpClient {
  store(request: StoreRequest): Promise<StoreResponse>;
  /**
   * Stores all memories in one request. Returns false if the server has no batch route. Rejects if the server rejects a
   * memory.
   */
  storeBatch(requests: readonly StoreRequest[]): Promise<boolean>;
  recall(query: string, topK: number, parameters?: Record<string, string>): Promise<RecallResponse>;
  consolidate(): Promise<ConsolidateResponse>;
  root(): Promise<RootResponse>;
  stats(): Promise<StatsResponse>;
  health(): Promise<HealthResponse>;
  /** Sends a GET request. `path` includes the query. */
  get(path: string): Promise<unknown>;
  /** Sends a POST request with a JSON body. `path` includes the query. */
  post(path: string, body: object, headers?: Record<string, string>): Promise<unknown>;
  /** Returns the value of a sample from the OpenMetrics response; undefined if missing. */
  metric(name: string): Promise<number | undefined>;
  close(): Promise<void>;
}

/**
 * Returns a client with keep-alive connections, so that measurements exclude connecting. Sequential requests reuse one
 * connection.
 *
 * @param connections maximum number of connections, each with one request in flight
 * @param signal aborts every request
 */
export function connect(origin: string, connections: number, signal: AbortSignal): HttpClient {
  const pool = new Pool(origin, {
    connections,
    pipelining: 1,
    headersTimeout: REQUEST_TIMEOUT_MS,
    bodyTimeout: REQUEST_TIMEOUT_MS,
  });
  const abort = (): void => void pool.destroy(signal.reason);
  signal.addEventListener('abort', abort, { once: true });

  function send(request: Dispatcher.DispatchOptions): Promise<HttpResponse> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      pool.dispatch(request, new ResponseReader(resolve, reject));
    });
  }

  async function get(path: string, headers: Record<string, string> = {}): Promise<string> {
    return getText(`GET ${path.split('?')[0]}`, await send({ method: 'GET', path, headers }));
  }

  function post(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<HttpResponse> {
    if (body === undefined) return send({ method: 'POST', path });
    const allHeaders = { 'content-type': 'application/json', ...headers };
    return send({ method: 'POST', path, headers: allHeaders, body: JSON.stringify(body) });
  }

  const getJson = async <T>(path: string): Promise<T> => JSON.parse(await get(path)) as T;
  const postJson = async <T>(path: string, body?: unknown, headers?: Record<string, string>): Promise<T> =>
    JSON.parse(getText(`POST ${path.split('?')[0]}`, await post(path, body, headers))) as T;

  return {
    store: (request) => postJson('/store', request),
    async storeBatch(requests) {
      const response = await post('/store/batch', requests);
      if (response.status === 404) return false;
      assertAllStored(JSON.parse(getText('POST /store/batch', response)) as StoreBatchResponse);
      return true;
    },
    recall: (query, topK, parameters) =>
      getJson(`/recall?${new URLSearchParams({ query, top_k: String(topK), ...parameters })}`),
    consolidate: () => postJson('/consolidate'),
    root: () => getJson('/'),
    stats: () => getJson('/stats'),
    health: () => getJson('/health'),
    get: getJson,
    post: postJson,
    async metric(name) {
      const samples = await get('/metrics', { accept: 'application/openmetrics-text' });
      const value = samples.split('\n').find((line) => line.startsWith(`${name} `));
      return value === undefined ? undefined : Number(value.slice(name.length + 1));
    },
    async close() {
      signal.removeEventListener('abort', abort);
      await pool.destroy();
    },
  };
}

function getText(request: string, { status, text }: HttpResponse): string {
  if (status !== 200) throw new Error(`${request} returned ${status}: ${text.slice(0, MAX_ERROR_BODY_CHARS)}`);
  return text;
}

interface HttpResponse {
  status: number;
  text: string;
}

/** Collects a response through callbacks, because a stream would add 20 % to the client's time. */
class ResponseReader implements Dispatcher.DispatchHandler {
  readonly #chunks: Buffer[] = [];
  readonly #resolve: (response: HttpResponse) => void;
  readonly #reject: (error: Error) => void;
  #status = 0;

  constructor(resolve: (response: HttpResponse) => void, reject: (error: Error) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
  }

  onRequestStart(): void {}

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    this.#status = status;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#resolve({ status: this.#status, text: Buffer.concat(this.#chunks).toString() });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#reject(error);
  }
}
