import { performance } from 'node:perf_hooks';
import { Pool } from 'undici';

// A consolidation run yields to recalls, so the response may take minutes.
const RESPONSE_TIMEOUT_MS = 600_000;

/** A request. `verb` is the name of the request in the report. */
export interface SoakRequest {
  verb: string;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  headers?: Record<string, string>;
  json?: unknown;
  /** Error codes that the report lists as expected, such as errors caused by concurrent changes. */
  expectedErrors?: readonly string[];
}

/** HTTP client that records durations and errors. */
export class RecordingClient {
  /** Durations of successful requests in milliseconds, by minute since the last reset and by verb. */
  readonly durationsMs: Map<string, number[]>[] = [];
  /** Number of expected errors by verb and code, such as `forget NOT_FOUND`. */
  readonly expectedErrors = new Map<string, number>();
  /** Number of unexpected errors by verb and code or message, such as `store INTERNAL_ERROR`. */
  readonly unexpectedErrors = new Map<string, number>();
  readonly #pool: Pool;
  #startMs = performance.now();

  constructor(origin: string, connections: number) {
    this.#pool = new Pool(origin, {
      connections,
      headersTimeout: RESPONSE_TIMEOUT_MS,
      bodyTimeout: RESPONSE_TIMEOUT_MS,
    });
  }

  /** Clears the durations and restarts the count of minutes. Does not clear the errors. */
  reset(): void {
    this.durationsMs.length = 0;
    this.#startMs = performance.now();
  }

  /** Number of full minutes since the last reset. */
  get minute(): number {
    return Math.floor((performance.now() - this.#startMs) / 60_000);
  }

  /**
   * Sends a request and returns the body of the response. If the response is an error or the connection fails, counts
   * the error and returns undefined.
   */
  async send<Body>({
    verb,
    method,
    path,
    headers = {},
    json,
    expectedErrors = [],
  }: SoakRequest): Promise<Body | undefined> {
    const sentAtMs = performance.now();
    try {
      const { statusCode, body } = await this.#pool.request({
        method,
        path,
        headers: { ...headers, ...(json !== undefined && { 'content-type': 'application/json' }) },
        ...(json !== undefined && { body: JSON.stringify(json) }),
      });
      const response = (await body.json()) as Body & { error?: { code: string } };
      if (statusCode === 200) {
        this.#recordDuration(verb, performance.now() - sentAtMs);
        return response;
      }
      const code = response.error?.code ?? String(statusCode);
      count(expectedErrors.includes(code) ? this.expectedErrors : this.unexpectedErrors, `${verb} ${code}`);
    } catch (error) {
      count(this.unexpectedErrors, `${verb} ${error instanceof Error ? error.message : String(error)}`);
    }
    return undefined;
  }

  /** Counts an unexpected error that occurs outside `send`, such as an ended event stream or a rejected batch item. */
  recordError(error: string): void {
    count(this.unexpectedErrors, error);
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }

  #recordDuration(verb: string, durationMs: number): void {
    const verbs = (this.durationsMs[this.minute] ??= new Map());
    const durations = verbs.get(verb);
    if (durations) durations.push(durationMs);
    else verbs.set(verb, [durationMs]);
  }
}

function count(counts: Map<string, number>, error: string): void {
  counts.set(error, (counts.get(error) ?? 0) + 1);
}
