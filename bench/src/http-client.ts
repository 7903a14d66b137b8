import type {
  ConsolidateResponse,
  HealthResponse,
  RecallResponse,
  RootResponse,
  StatsResponse,
  StoreRequest,
  StoreResponse,
} from '@memoryd/contract';
import { type Dispatcher, Pool } from 'undici';

// A consolidation of a million memories is one request.
const REQUEST_TIMEOUT_MS = 600_000;
const SHOWN_CHARS = 500;

/** The REST requests that are measured. Each rejects unless the answer is 200. */
export interface HttpClient {
  store(request: StoreRequest): Promise<StoreResponse>;
  /** Stores all in order, with one request; false from a server without that route. Rejects when one is refused. */
  storeBatch(requests: readonly StoreRequest[]): Promise<boolean>;
  recall(query: string, topK: number, more?: Record<string, string>): Promise<RecallResponse>;
  consolidate(): Promise<ConsolidateResponse>;
  root(): Promise<RootResponse>;
  stats(): Promise<StatsResponse>;
  health(): Promise<HealthResponse>;
  /** The value of a metric without labels, from the OpenMetrics answer; undefined where there is none. */
  metric(name: string): Promise<number | undefined>;
  close(): Promise<void>;
}

/**
 * A client with connections that are kept alive, so that the price of connecting is not measured. A request that is
 * answered before the next is made always finds the same connection.
 *
 * @param connections most connections, each with one request under way
 * @param signal ends every request when it aborts
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

  function exchange(request: Dispatcher.DispatchOptions): Promise<Answer> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      pool.dispatch(request, new AnswerReader(resolve, reject));
    });
  }

  async function get(path: string, headers: Record<string, string> = {}): Promise<string> {
    return getText(`GET ${path.split('?')[0]}`, await exchange({ method: 'GET', path, headers }));
  }

  function post(path: string, body?: unknown): Promise<Answer> {
    if (body === undefined) return exchange({ method: 'POST', path });
    const headers = { 'content-type': 'application/json' };
    return exchange({ method: 'POST', path, headers, body: JSON.stringify(body) });
  }

  const getJson = async <T>(path: string): Promise<T> => JSON.parse(await get(path)) as T;
  const postJson = async <T>(path: string, body?: unknown): Promise<T> =>
    JSON.parse(getText(`POST ${path}`, await post(path, body))) as T;

  return {
    store: (request) => postJson('/store', request),
    async storeBatch(requests) {
      const answer = await post('/store/batch', requests);
      if (answer.status === 404) return false;
      const { failed } = JSON.parse(getText('POST /store/batch', answer)) as { failed: number };
      if (failed > 0)
        throw new Error(`POST /store/batch refused ${failed} memories: ${answer.text.slice(0, SHOWN_CHARS)}`);
      return true;
    },
    recall: (query, topK, more) => getJson(`/recall?${new URLSearchParams({ query, top_k: String(topK), ...more })}`),
    consolidate: () => postJson('/consolidate'),
    root: () => getJson('/'),
    stats: () => getJson('/stats'),
    health: () => getJson('/health'),
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

function getText(request: string, { status, text }: Answer): string {
  if (status !== 200) throw new Error(`${request} answered ${status}: ${text.slice(0, SHOWN_CHARS)}`);
  return text;
}

interface Answer {
  status: number;
  text: string;
}

/** Gathers an answer without a stream, which would take a fifth more of the client's time. */
class AnswerReader implements Dispatcher.DispatchHandler {
  readonly #chunks: Buffer[] = [];
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: Error) => void;
  #status = 0;

  constructor(resolve: (answer: Answer) => void, reject: (error: Error) => void) {
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
