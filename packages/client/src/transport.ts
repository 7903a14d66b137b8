import { createFieldError, MemoryError, toError, toUnexpectedResponse } from './memory-error.ts';
import { withoutNodeTimeouts } from './node-timeouts.ts';
import { MAX_TIMER_MS } from './timer.ts';

/** Address, authentication, timeouts and retries of requests. */
export interface TransportOptions {
  /**
   * Base URL of the service, without `/store`. Defaults to `http://127.0.0.1:8090`. The constructor throws a TypeError
   * if the URL is not an HTTP or HTTPS URL, or contains a user name, a password, a query or a fragment.
   */
  url?: string;
  /** Sent as `Authorization: Bearer …`. */
  apiKey?: string;
  /** Sent with every request. */
  headers?: Record<string, string>;
  /** Timeout of one attempt in ms, including reading the response. Defaults to 30,000. */
  attemptTimeoutMs?: number;
  /** Timeout of a call with all its attempts, in ms. Defaults to 120,000, or 600,000 for slow operations. */
  timeoutMs?: number;
  /** Maximum number of retries of a call. Defaults to 5. */
  retries?: number;
  /**
   * Upper bound of the random delay before the first retry, in ms. Doubles with every retry, up to 5,000. Defaults to
   * 250.
   */
  retryDelayMs?: number;
  /** The `fetch` to use. Defaults to the global `fetch`. */
  fetch?: typeof fetch;
}

/** Options of one call. */
export interface CallOptions {
  /** Aborts the call, which then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Timeout of the call with all its attempts, in ms. */
  timeoutMs?: number;
  /** Maximum number of retries of the call. Defaults to the number of the client. */
  retries?: number;
}

/** A request, which may be sent several times. */
export interface TransportRequest {
  method: string;
  /** Path with query string. */
  path: string;
  headers?: Record<string, string>;
  /** Only a string body can be sent again. */
  body?: string | ReadableStream<Uint8Array> | Blob;
  /** True if sending the request again has no additional effect. */
  repeatable: boolean;
  slow?: boolean | undefined;
  /** Media type that a response with the header `Content-Type` must have. If undefined, the header is not checked. */
  mediaType?: string | undefined;
  /** Status outside the range 200 to 299 with which the call still succeeds. */
  acceptedStatus?: number;
}

/** A response whose headers have arrived and whose body may still be open. */
export interface OpenResponse {
  response: Response;
  /** Removes the timeout of the attempt, to read the body later. The caller must then call `end`. */
  clearTimeout(): void;
  /** Ends the attempt: removes the timeout, and aborts the response if the body was not read to the end. */
  end(): void;
  /** Converts an error from reading the body to the error that the call rejects with. */
  toRejection(error: unknown): unknown;
}

const MAX_BACKOFF_MS = 5000;
const SLOW_TIMEOUT_MS = 600_000;
const DEFAULT_TIMEOUT_MS = 120_000;

/** Parses an HTTP or HTTPS URL. In a browser, the URL may be relative to the page. */
function parseHttpUrl(url: string): URL | undefined {
  const { location } = globalThis as { location?: { href: string } };
  try {
    const resolved = new URL(url, location?.href);
    return /^https?:$/.test(resolved.protocol) ? resolved : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the base URL without trailing slashes. Throws a TypeError for an invalid URL; see `TransportOptions`. */
function toBaseUrl(url: string): string {
  const resolved = parseHttpUrl(url);
  // The messages do not contain the URL, which may include a password.
  if (!resolved) throw new TypeError('url must be an http or https URL such as http://127.0.0.1:8090');
  if (resolved.username || resolved.password) {
    throw new TypeError('url must not contain a user name or password; set apiKey instead');
  }
  if (/[?#]/.test(url))
    throw new TypeError('url must not contain a query or fragment, because the client appends paths to the url');
  return url.trim().replace(/\/+$/, '');
}

/** Sends requests, and repeats a failed request if repeating is safe. */
export class Transport {
  readonly #options: TransportOptions;
  readonly #url: string;
  readonly retryDelayMs: number;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#url = toBaseUrl(options.url ?? 'http://127.0.0.1:8090');
    this.retryDelayMs = options.retryDelayMs ?? 250;
  }

  /**
   * Sends a request, and reads its response with `read`. Retries overload responses (429, or 503 with `Retry-After`)
   * after the time in `Retry-After`. Retries a request that may have been executed only if the request is repeatable.
   * Never retries a request whose body is not a string.
   */
  async send<T>(
    request: TransportRequest,
    { signal, timeoutMs, retries = this.#options.retries ?? 5 }: CallOptions,
    read: (open: OpenResponse) => Promise<T>,
  ): Promise<T> {
    const { timeoutMs: defaultTimeoutMs } = this.#options;
    const headers = this.#getHeaders(request);
    const deadline =
      Date.now() + (timeoutMs ?? defaultTimeoutMs ?? (request.slow ? SLOW_TIMEOUT_MS : DEFAULT_TIMEOUT_MS));
    for (let attempt = 0; ; attempt++) {
      signal?.throwIfAborted();
      try {
        return await this.#attempt({ ...request, headers }, deadline - Date.now(), signal, read);
      } catch (error) {
        if (!(error instanceof MemoryError) || attempt >= retries || !isRetryable(error, request)) throw error;
        const waitMs = (error.retryAfterSeconds ?? 0) * 1000 + getBackoffMs(attempt, this.retryDelayMs);
        if (Date.now() + waitMs >= deadline) throw error;
        await pause(waitMs, signal);
      }
    }
  }

  #getHeaders({ headers, body }: TransportRequest): Record<string, string> {
    const { apiKey } = this.#options;
    return assertValidHeaders({
      ...this.#options.headers,
      ...(body !== undefined && { 'Content-Type': isText(body) ? 'application/json' : 'application/x-ndjson' }),
      ...headers,
      ...(apiKey !== undefined && { Authorization: `Bearer ${apiKey}` }),
    });
  }

  async #attempt<T>(
    { method, path, headers = {}, body, slow, mediaType, acceptedStatus }: TransportRequest,
    remainingMs: number,
    signal: AbortSignal | undefined,
    read: (open: OpenResponse) => Promise<T>,
  ): Promise<T> {
    const { attemptTimeoutMs = 30_000, fetch = globalThis.fetch } = this.#options;
    const timeoutMs = slow ? remainingMs : Math.min(remainingMs, attemptTimeoutMs);
    const timeout = createTimeout(timeoutMs, signal);
    const toRejection = (error: unknown) => {
      if (error instanceof MemoryError) return error;
      if (signal?.aborted) return signal.reason;
      const operation = `${method} ${this.#url}${path.split('?')[0]}`;
      const problem = timeout.isExpired()
        ? `no response within ${Math.round(timeoutMs)} ms`
        : `no response (${getReason(error)})`;
      const advice = 'check the address of the service, and that the service is running';
      return new MemoryError('UNAVAILABLE', `${problem} to ${operation}; ${advice}`, { cause: error });
    };
    let staysOpen = false;
    try {
      const response = await fetch(this.#url + path, {
        method,
        headers,
        ...(body !== undefined && { body, duplex: 'half' }),
        signal: timeout.signal,
        // `fetch` would turn a redirected POST into a GET.
        redirect: 'manual',
        ...(fetch === globalThis.fetch && withoutNodeTimeouts()),
      });
      if (!response.ok && response.status !== acceptedStatus) throw toError(response, await response.text());
      if (mediaType !== undefined && !hasMediaType(mediaType, response))
        throw toUnexpectedResponse(response, mediaType);
      const clearTimeout = () => {
        staysOpen = true;
        timeout.clear();
      };
      return await read({ response, clearTimeout, end: timeout.end, toRejection });
    } catch (error) {
      throw toRejection(error);
    } finally {
      if (!staysOpen) timeout.end();
    }
  }
}

/**
 * Returns the delay before a retry: exponential backoff with full jitter, so that callers that failed together do not
 * retry together.
 */
export function getBackoffMs(attempt: number, delayMs: number): number {
  return Math.random() * Math.min(delayMs * 2 ** attempt, MAX_BACKOFF_MS);
}

/** Resolves after `ms`, or rejects with the signal's reason if the signal is aborted before. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  // An aborted signal does not notify listeners that are added later.
  if (signal?.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/**
 * Returns the headers if they are valid (RFC 9110, section 5). Error messages of `fetch` for invalid headers would show
 * their values, which may be secret.
 *
 * @throws MemoryError INVALID_REQUEST
 */
function assertValidHeaders(headers: Record<string, string>): Record<string, string> {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw createFieldError(name, 'be a valid header name');
    // `fetch` trims whitespace around a value.
    if (/[^\t -~\x80-\xff]/.test(String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '')))
      throw createFieldError(name, 'be one line of characters up to U+00FF, because it is sent as a header');
  }
  return headers;
}

/**
 * Returns false for a response with another media type, such as the HTML page of a proxy. Accepts a response without a
 * type.
 */
function hasMediaType(expected: string, { headers }: Response): boolean {
  const [type = ''] = (headers.get('content-type') ?? '').split(';');
  return type === '' || type.trim().toLowerCase() === expected;
}

function isText(body: unknown): body is string {
  return typeof body === 'string';
}

function isRetryable({ status, retryAfterSeconds }: MemoryError, { repeatable, body }: TransportRequest): boolean {
  if (body !== undefined && !isText(body)) return false;
  if (status === 429 || (status === 503 && retryAfterSeconds !== undefined)) return true;
  return repeatable && (status === undefined || (status >= 502 && status <= 504));
}

/** Creates a signal that is aborted after `ms` or together with the signal of the caller. */
function createTimeout(ms: number, caller: AbortSignal | undefined) {
  const controller = new AbortController();
  const stop = () => controller.abort(caller?.reason);
  let expired = false;
  const expire = () => {
    expired = true;
    controller.abort();
  };
  const timer = ms <= MAX_TIMER_MS ? setTimeout(expire, ms) : undefined;
  caller?.addEventListener('abort', stop, { once: true });
  const clear = () => clearTimeout(timer);
  const end = () => {
    clear();
    caller?.removeEventListener('abort', stop);
    // An unread response would keep its connection open.
    controller.abort();
  };
  return {
    signal: controller.signal,
    isExpired: () => expired,
    clear,
    end,
  };
}

// The message of a `fetch` error is generic. The reason is in the error's cause, if present.
function getReason(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  return String((cause as Error | undefined)?.message || (error as Error | undefined)?.message || error);
}
