import ky, { HTTPError, type KyInstance, TimeoutError } from 'ky';

/** A server of models, and its model if the server has several. */
export interface RemoteServer {
  /** Base URL without the path of the protocol. A query string is preserved. */
  url: string;
  model?: string;
  /** Absent for servers that require no key. */
  apiKey?: string;
}

/** A remote model behind an OpenAI-compatible protocol. */
export type RemoteModel = RemoteServer & { model: string };

/** The protocol of a model: its path, and the nouns that error messages use for it. */
export interface Protocol {
  /** For example `/embeddings`; empty if the URL of the server is complete. */
  path: string;
  /** For example "the embedding server". */
  server: string;
  /** The content of responses, for example "embeddings". */
  answers: string;
  maxResponseBytes: number;
}

/**
 * Timeout of each attempt, timeout of the request with its retries, and maximum number of retries. Retries back off
 * exponentially from 0.3 s, with jitter, unless the server sends `Retry-After`.
 */
export interface RetryPolicy {
  attemptMs: number;
  totalMs: number;
  retries: number;
}

/**
 * A request. With `secret`, neither the texts of the request nor the error messages of the server are logged, because
 * an error message may quote a text.
 */
interface RemoteRequest {
  body: object;
  patience: RetryPolicy;
  secret: boolean;
  /** Aborts the request, including its retries. */
  signal?: AbortSignal;
}

const BUSY_STATUSES = [408, 429, 500, 502, 503, 504];

/** Maximum delay of a retry that the server requests with `Retry-After`, in ms. */
const MAX_RETRY_AFTER_MS = 30_000;
const MAX_BACKOFF_MS = 5000;

/** Maximum characters of an error response that are searched for the kind of failure. */
const MAX_ERROR_BODY_CHARS = 16 * 1024;

/** Maximum characters of an error message that are logged. */
const MAX_LOGGED_CHARS = 300;

/**
 * Matches the error messages for too long texts of OpenAI, vLLM, Text Embeddings Inference, llama.cpp and LiteLLM.
 */
const TOO_LONG_MESSAGE =
  /too (long|large|many tokens)|context.?(length|window|size)|max\w*.{0,30}(tokens|length)|less than \d+ tokens/i;

/** Client of one remote model. The time of a request and the size of its response are limited. */
export class RemoteModelClient {
  readonly #model: RemoteServer;
  readonly #protocol: Protocol;
  readonly #endpoint: URL;
  readonly #client: KyInstance;
  readonly #pending = new Set<() => void>();
  #closed = false;

  /** @throws RemoteFailure for an API key that is not a valid header value */
  constructor(model: RemoteServer, protocol: Protocol) {
    // Checked here, because the error of fetch would quote the key.
    if (model.apiKey && !/^[!-~]+$/.test(model.apiKey)) {
      throw new RemoteFailure('key', 'the API key must consist of printable ASCII characters without spaces');
    }
    this.#model = model;
    this.#protocol = protocol;
    this.#endpoint = new URL(model.url);
    this.#endpoint.pathname = `${this.#endpoint.pathname.replace(/\/+$/, '')}${protocol.path}`;
    this.#client = ky.create({
      // A redirect would send texts to an address that nobody configured.
      redirect: 'manual',
      headers: model.apiKey ? { authorization: `Bearer ${model.apiKey}` } : {},
      retry: {
        methods: ['post'],
        statusCodes: BUSY_STATUSES,
        afterStatusCodes: [429, 503],
        maxRetryAfter: MAX_RETRY_AFTER_MS,
        backoffLimit: MAX_BACKOFF_MS,
        jitter: true,
        shouldRetry: ({ error }) => (isTooLong(error) ? false : undefined),
      },
      // Preserves the text of an error response unparsed.
      parseJson: (text) => text,
    });
  }

  /**
   * Sends a request with the model, if any, and the fields of `body`. Returns the text of the response.
   *
   * @throws RemoteFailure
   */
  async post({ body, patience, secret, signal }: RemoteRequest): Promise<string> {
    const abort = new AbortController();
    const giveUp = () =>
      abort.abort(new RemoteFailure('closed', `the request to ${this.#protocol.server} was aborted`));
    const timeUp = () => abort.abort(this.#failure('late', 'does not respond in time'));
    if (this.#closed || signal?.aborted) giveUp();
    const timer = setTimeout(timeUp, patience.totalMs);
    signal?.addEventListener('abort', giveUp, { once: true });
    this.#pending.add(giveUp);
    try {
      abort.signal.throwIfAborted();
      const response = await this.#client.post(this.#endpoint, {
        json: { model: this.#model.model, ...body },
        signal: abort.signal,
        timeout: patience.attemptMs,
        retry: { limit: patience.retries },
      });
      return await getText(response, this.#protocol.maxResponseBytes, abort.signal);
    } catch (error) {
      throw abort.signal.aborted ? abort.signal.reason : this.#getFailure(error, secret);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
      this.#pending.delete(giveUp);
    }
  }

  /** Aborts pending requests and rejects all further requests. */
  close(): void {
    this.#closed = true;
    for (const giveUp of this.#pending) giveUp();
  }

  #failure(kind: RemoteFailure['kind'], what: string, cause?: unknown): RemoteFailure {
    return new RemoteFailure(kind, `${this.#protocol.server} ${what}`, cause);
  }

  #getFailure(error: unknown, secret: boolean): RemoteFailure {
    if (error instanceof TimeoutError) return this.#failure('late', 'does not respond in time');
    if (error instanceof HTTPError) return this.#getStatusFailure(error, secret);
    if (error instanceof ResponseTooLarge) return this.#failure('unusable', `returned ${error.message}`);
    return this.#failure('unreachable', 'cannot be reached', this.#loggable(getMessages(error)));
  }

  // The error of ky must not become the cause, because the error contains the request with the API key.
  #getStatusFailure(error: HTTPError, secret: boolean): RemoteFailure {
    const { status } = error.response;
    if (status >= 300 && status < 400) {
      const what = `redirects to another address (${status}), to which no text is sent; configure that address`;
      return this.#failure('address', what);
    }
    if (status === 401 || status === 403) {
      // Without a cause, because the message of the server may quote the key.
      const what = this.#model.apiKey ? 'rejects the API key' : 'requires an API key';
      return this.#failure('key', `${what} (${status})`);
    }
    const message = getErrorBody(error);
    const cause = secret ? undefined : this.#loggable(`${status}: ${message}`);
    if (isTooLongMessage(status, message)) return this.#failure('too long', 'rejects a text as too long', cause);
    if (status === 404 && /model/i.test(message)) return this.#failure('model', 'does not know the model (404)', cause);
    if (status === 400 || status === 422) return this.#failure('refused', 'rejects a text', cause);
    if (status === 429) return this.#failure('busy', 'is limiting requests (429)', cause);
    if (BUSY_STATUSES.includes(status) || status >= 500) return this.#failure('failing', `fails (${status})`, cause);
    return new RemoteFailure('address', `the address does not serve ${this.#protocol.answers} (${status})`, cause);
  }

  #loggable(text: string): Error {
    const { apiKey } = this.#model;
    return new Error((apiKey ? text.replaceAll(apiKey, '[key]') : text).slice(0, MAX_LOGGED_CHARS));
  }
}

function isTooLong(error: Error): boolean {
  return error instanceof HTTPError && isTooLongMessage(error.response.status, getErrorBody(error));
}

function isTooLongMessage(status: number, message: string): boolean {
  return status === 413 || ([400, 422, 500].includes(status) && TOO_LONG_MESSAGE.test(message));
}

/** Returns the beginning of the body of an error response, or an empty text if the body could not be read. */
function getErrorBody({ data }: HTTPError): string {
  return typeof data === 'string' ? data.slice(0, MAX_ERROR_BODY_CHARS) : '';
}

class ResponseTooLarge extends Error {}

/**
 * Reads the text of a response body. Rejects if the body exceeds the limit, or when the signal is aborted. Adds its own
 * listener to the signal, because fetch of Node references the signal weakly and may lose the signal while a body is
 * read (nodejs/undici, pull request 4984).
 */
async function getText({ body }: Response, maxBytes: number, signal: AbortSignal): Promise<string> {
  const reader = body?.getReader();
  const giveUp = () => void reader?.cancel(signal.reason).catch(() => {});
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await readText(reader, maxBytes, signal);
  } finally {
    signal.removeEventListener('abort', giveUp);
    // Stops the transfer of a body that was not read completely.
    giveUp();
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

async function readText(reader: Reader | undefined, maxBytes: number, signal: AbortSignal): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
    bytes += piece.value.length;
    if (bytes > maxBytes) throw new ResponseTooLarge(`more than ${maxBytes} bytes`);
    text += decoder.decode(piece.value, { stream: true });
  }
  signal.throwIfAborted();
  return text + decoder.decode();
}

/** Joins the messages of an error and its causes, because the message of fetch itself is only "fetch failed". */
function getMessages(error: unknown): string {
  const messages: string[] = [];
  for (let cause = error; cause instanceof Error && messages.length < 4; cause = cause.cause) {
    messages.push(cause.message || String((cause as NodeJS.ErrnoException).code ?? cause.name));
  }
  return messages.join(': ');
}

/** Kind of failure of a request to a remote model. */
export type FailureKind =
  /** The API key is wrong or missing. */
  | 'key'
  /** The server does not know the model. */
  | 'model'
  /** The address does not serve the protocol. */
  | 'address'
  /** No connection to the address. */
  | 'unreachable'
  /** No response within the timeout. */
  | 'late'
  /** Too many requests at the moment. */
  | 'busy'
  /** The server failed. */
  | 'failing'
  /** The server rejects this request, but may accept other requests. */
  | 'refused'
  | 'too long'
  /** The response does not have the expected content. */
  | 'unusable'
  /** The caller aborted the request or closed the client. */
  | 'closed';

/** The setting of a remote model that is probably wrong. */
export type RemoteSetting = 'url' | 'model' | 'apiKey';

const SETTINGS: Partial<Record<FailureKind, RemoteSetting>> = {
  key: 'apiKey',
  model: 'model',
  address: 'url',
  unreachable: 'url',
  late: 'url',
};

/**
 * A failed request to a remote model. The message is a phrase for operators. Neither message nor cause contains the API
 * key. For a request with `secret`, neither contains error messages of the server.
 */
export class RemoteFailure extends Error {
  override readonly name = 'RemoteFailure';
  readonly kind: FailureKind;

  constructor(kind: FailureKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }

  /** The setting that is probably wrong, if any. */
  get setting(): RemoteSetting | undefined {
    return SETTINGS[this.kind];
  }
}
