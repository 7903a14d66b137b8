import type {
  HealthResponse,
  RecallResponse,
  RootResponse,
  StatsResponse,
  StoreRequest,
  StoreResponse,
} from '@memoryd/contract';
import { type Dispatcher, Pool } from 'undici';

const requestTimeoutMs = 60_000;

/** The REST requests that are measured. Each rejects unless the answer is 200. */
export interface HttpClient {
  store(request: StoreRequest): Promise<StoreResponse>;
  recall(query: string, topK: number): Promise<RecallResponse>;
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
    headersTimeout: requestTimeoutMs,
    bodyTimeout: requestTimeoutMs,
  });
  const abort = (): void => void pool.destroy(signal.reason);
  signal.addEventListener('abort', abort, { once: true });

  async function send(
    method: 'GET' | 'POST',
    path: string,
    more: { headers?: object; body?: string },
  ): Promise<string> {
    signal.throwIfAborted();
    const response = await pool.request({ method, path, ...more } as Dispatcher.RequestOptions);
    const text = await response.body.text();
    if (response.statusCode !== 200) {
      throw new Error(`${method} ${path.split('?')[0]} answered ${response.statusCode}: ${text.slice(0, 500)}`);
    }
    return text;
  }

  async function call<T>(method: 'GET' | 'POST', path: string, body?: StoreRequest): Promise<T> {
    const json = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    return JSON.parse(await send(method, path, json ?? {})) as T;
  }

  return {
    store: (request) => call('POST', '/store', request),
    recall: (query, topK) => call('GET', `/recall?${new URLSearchParams({ query, top_k: String(topK) })}`),
    root: () => call('GET', '/'),
    stats: () => call('GET', '/stats'),
    health: () => call('GET', '/health'),
    async metric(name) {
      const samples = await send('GET', '/metrics', { headers: { accept: 'application/openmetrics-text' } });
      const value = samples.split('\n').find((line) => line.startsWith(`${name} `));
      return value === undefined ? undefined : Number(value.slice(name.length + 1));
    },
    async close() {
      signal.removeEventListener('abort', abort);
      await pool.destroy();
    },
  };
}
