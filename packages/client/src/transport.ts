import { getError, MemoryError, notOurs, unsendable } from './memory-error.ts';
import { patience } from './patience.ts';

/** How requests are sent. */
export interface TransportOptions {
  /**
   * Where the service is, up to what comes before `/store`. `http://127.0.0.1:8090` where absent; TypeError for what is none
   * of HTTP, or holds a user name, a query or a fragment.
   */
  url?: string;
  /** Shown as `Authorization: Bearer …`. */
  apiKey?: string;
  /** Sent with every request. */
  headers?: Record<string, string>;
  /** Milliseconds for one attempt, until all of its answer is in; 30,000 where absent. */
  attemptTimeoutMs?: number;
  /** Milliseconds for a call with all of its attempts; 120,000 where absent, or 600,000 for those that take long. */
  timeoutMs?: number;
  /** How often a call is tried again; 5 where absent. */
  retries?: number;
  /** Milliseconds that the wait before the first retry is shorter than; it doubles each time. 250 where absent. */
  retryDelayMs?: number;
  /** What sends; the global one where absent. */
  fetch?: typeof fetch;
}

/** What one call may say. */
export interface CallOptions {
  /** Ends the call, which rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Milliseconds for the call with all of its attempts. */
  timeoutMs?: number;
}

/** One request, as often as it is sent. */
export interface Sending {
  method: string;
  /** With its query string. */
  path: string;
  headers?: Record<string, string>;
  /** What is no text can be sent once. */
  body?: string | ReadableStream<Uint8Array> | Blob;
  /** Doing it twice does no more than doing it once, and answers the same. */
  repeatable: boolean;
  slow?: boolean | undefined;
  /** The media type of the answer where that is not JSON. */
  answers?: string | undefined;
  /** A status that tells no error, beside those of success. */
  alsoStatus?: number;
}

/** An attempt whose answer has begun. */
export interface Arrival {
  response: Response;
  /** Lifts the limit on the attempt's time, for an answer that is read later; `end` has to be called then. */
  lift(): void;
  /** Breaks the attempt off, or tells that its answer was read. */
  end(): void;
  /** What the call rejects with where reading the answer fails so. */
  rejection(error: unknown): unknown;
}

const MAX_WAIT_MS = 5000;
/** What timers hold: beyond it they fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const SLOW_TIMEOUT_MS = 600_000;
const TIMEOUT_MS = 120_000;

/** An address that fetch would go to; in a page, one may be relative to that of the page. */
function httpUrl(url: string): URL | undefined {
  const { location } = globalThis as { location?: { href: string } };
  try {
    const resolved = new URL(url, location?.href);
    return /^https?:$/.test(resolved.protocol) ? resolved : undefined;
  } catch {
    return undefined;
  }
}

/** What paths are appended to. */
function getBase(url: string): string {
  const resolved = httpUrl(url);
  if (!resolved) throw new TypeError(`url must be an http or https address such as http://127.0.0.1:8090, not ${url}`);
  // Not told: it may be followed by a password.
  if (resolved.username || resolved.password) throw new TypeError('url must hold no user name; apiKey shows a key');
  if (/[?#]/.test(url)) throw new TypeError('url must hold no query and no fragment: paths are appended to it');
  return url.trim().replace(/\/+$/, '');
}

/** Sends requests, and sends them again where that is safe. */
export class Transport {
  readonly #options: TransportOptions;
  readonly #url: string;
  readonly retryDelayMs: number;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#url = getBase(options.url ?? 'http://127.0.0.1:8090');
    this.retryDelayMs = options.retryDelayMs ?? 250;
  }

  /**
   * Sends a request until `read` has its answer. What was refused for being too much is sent again after the time that
   * the service names; what may have been done, only where it is repeatable.
   */
  async send<T>(
    sending: Sending,
    { signal, timeoutMs }: CallOptions,
    read: (arrival: Arrival) => Promise<T>,
  ): Promise<T> {
    const { retries = 5, timeoutMs: givenMs } = this.#options;
    const headers = this.#getHeaders(sending);
    const deadline = Date.now() + (timeoutMs ?? givenMs ?? (sending.slow ? SLOW_TIMEOUT_MS : TIMEOUT_MS));
    for (let attempt = 0; ; attempt++) {
      signal?.throwIfAborted();
      try {
        return await this.#attempt({ ...sending, headers }, deadline - Date.now(), signal, read);
      } catch (error) {
        if (!(error instanceof MemoryError) || attempt >= retries || !mayRepeat(error, sending)) throw error;
        const waitMs = (error.retryAfterSeconds ?? 0) * 1000 + backoffMs(attempt, this.retryDelayMs);
        if (Date.now() + waitMs >= deadline) throw error;
        await pause(waitMs, signal);
      }
    }
  }

  #getHeaders({ headers, body }: Sending): Record<string, string> {
    const { apiKey } = this.#options;
    return sendable({
      ...this.#options.headers,
      ...headers,
      ...(apiKey !== undefined && { Authorization: `Bearer ${apiKey}` }),
      ...(body !== undefined && { 'Content-Type': isText(body) ? 'application/json' : 'application/x-ndjson' }),
    });
  }

  async #attempt<T>(
    { method, path, headers = {}, body, slow, answers, alsoStatus }: Sending,
    leftMs: number,
    signal: AbortSignal | undefined,
    read: (arrival: Arrival) => Promise<T>,
  ): Promise<T> {
    const { attemptTimeoutMs = 30_000, fetch = globalThis.fetch } = this.#options;
    const limitMs = slow ? leftMs : Math.min(leftMs, attemptTimeoutMs);
    const limit = limited(limitMs, signal);
    const rejection = (error: unknown) => {
      if (error instanceof MemoryError) return error;
      if (signal?.aborted) return signal.reason;
      const why = limit.expired() ? `no answer within ${Math.round(limitMs)} ms` : `no answer (${getReason(error)})`;
      const what = `${method} ${this.#url}${path.split('?')[0]}`;
      return new MemoryError('UNAVAILABLE', `${why} to ${what}`, { cause: error });
    };
    let lifted = false;
    try {
      const response = await fetch(this.#url + path, {
        method,
        headers,
        ...(body !== undefined && { body, duplex: 'half' }),
        signal: limit.signal,
        // A POST that is redirected would become a GET.
        redirect: 'manual',
        ...(fetch === globalThis.fetch && patience()),
      });
      if (!response.ok && response.status !== alsoStatus) throw getError(response, await response.text());
      if (answers !== undefined && !isOfType(answers, response)) throw notOurs(response, answers);
      const lift = () => {
        lifted = true;
        limit.lift();
      };
      return await read({ response, lift, end: limit.end, rejection });
    } catch (error) {
      throw rejection(error);
    } finally {
      if (!lifted) limit.end();
    }
  }
}

/** The wait before a retry: random, so that callers who failed together do not come again together. */
export function backoffMs(attempt: number, delayMs: number): number {
  return Math.random() * Math.min(delayMs * 2 ** attempt, MAX_WAIT_MS);
}

/** Resolved after a time; rejects with the signal's reason when that comes first. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  // A signal that has come tells nobody who listens afterwards.
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
 * Headers as they are, where requests can have them (RFC 9110, section 5). What fetch says of others shows their values,
 * which may be keys.
 *
 * @throws MemoryError INVALID_REQUEST
 */
function sendable(headers: Record<string, string>): Record<string, string> {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw unsendable(name, 'be the name of a header');
    // What stands around a value is not sent.
    if (/[^\t -~\x80-\xff]/.test(String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '')))
      throw unsendable(name, 'be one line of characters up to U+00FF, as it is sent as a header');
  }
  return headers;
}

/** A proxy's own page says that it is one: kept as a backup, it would be found out too late. */
function isOfType(expected: string, { headers }: Response): boolean {
  const [type = ''] = (headers.get('content-type') ?? '').split(';');
  return type === '' || type.trim().toLowerCase() === expected;
}

function isText(body: unknown): body is string {
  return typeof body === 'string';
}

function mayRepeat({ status, retryAfterSeconds }: MemoryError, { repeatable, body }: Sending): boolean {
  if (body !== undefined && !isText(body)) return false;
  if (status === 429 || (status === 503 && retryAfterSeconds !== undefined)) return true;
  return repeatable && (status === undefined || (status >= 502 && status <= 504));
}

/** A signal that comes when the time is over or the caller's signal does. */
function limited(ms: number, caller: AbortSignal | undefined) {
  const controller = new AbortController();
  const stop = () => controller.abort(caller?.reason);
  let expired = false;
  const expire = () => {
    expired = true;
    controller.abort();
  };
  const timer = ms <= MAX_TIMER_MS ? setTimeout(expire, ms) : undefined;
  caller?.addEventListener('abort', stop, { once: true });
  const lift = () => clearTimeout(timer);
  const end = () => {
    lift();
    caller?.removeEventListener('abort', stop);
    // An answer that nobody reads would hold its connection.
    controller.abort();
  };
  return {
    signal: controller.signal,
    expired: () => expired,
    lift,
    end,
  };
}

// fetch says no more than that it failed; its cause, where there is one, says why.
function getReason(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  return String((cause as Error | undefined)?.message || (error as Error | undefined)?.message || error);
}
