import ky, { HTTPError, type KyInstance, TimeoutError } from 'ky';

/** A model behind one of the OpenAI protocols. */
export interface RemoteModel {
  /** What comes before the protocol's own path; a query string stays. */
  url: string;
  model: string;
  /** Absent for servers that want none. */
  apiKey?: string;
}

/** What is asked of a model: the end of the address, and the words for it in messages. */
export interface Protocol {
  /** Such as `/embeddings`. */
  path: string;
  /** Such as "the embedding server". */
  server: string;
  /** What it answers, such as "embeddings". */
  answers: string;
  largestAnswerBytes: number;
}

/** How long to try. Retries back off from .3 s, doubling, with jitter. */
export interface Patience {
  attemptMs: number;
  totalMs: number;
  retries: number;
}

/** One request. `secret`: its words may not be logged, and so nothing that a refusal quotes. */
interface RemoteRequest {
  body: object;
  patience: Patience;
  secret: boolean;
  /** Gives up when it is aborted. */
  signal?: AbortSignal;
}

const BUSY_STATUSES = [408, 429, 500, 502, 503, 504];

/** Longest that a server's own `Retry-After` is waited for. */
const MAX_RETRY_AFTER_MS = 30_000;
const MAX_BACKOFF_MS = 5000;

/** How much of a refusal is looked at, and how much of that is logged. */
const MAX_REFUSAL_CHARS = 16 * 1024;
const LOGGED_CHARS = 300;

/** In the words of OpenAI, vLLM, Text Embeddings Inference, llama.cpp and LiteLLM, whatever the status. */
const SAYS_TOO_LONG =
  /too (long|large|many tokens)|context.?(length|window|size)|max\w*.{0,30}(tokens|length)|less than \d+ tokens/i;

/** Requests to one model, each bounded in time and size. */
export class RemoteModelClient {
  readonly #model: RemoteModel;
  readonly #protocol: Protocol;
  readonly #endpoint: URL;
  readonly #client: KyInstance;
  readonly #underWay = new Set<() => void>();
  #closed = false;

  /** @throws RemoteFailure for a key that no header can hold */
  constructor(model: RemoteModel, protocol: Protocol) {
    // Asked here because fetch quotes what it refuses.
    if (model.apiKey && !/^[!-~]+$/.test(model.apiKey)) {
      throw new RemoteFailure('key', 'the API key holds blanks or other signs that no key has');
    }
    this.#model = model;
    this.#protocol = protocol;
    this.#endpoint = new URL(model.url);
    this.#endpoint.pathname = `${this.#endpoint.pathname.replace(/\/+$/, '')}${protocol.path}`;
    this.#client = ky.create({
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
      // The text of a refusal stays as it is.
      parseJson: (text) => text,
    });
  }

  /**
   * The text of the answer to a request that names the model beside what `body` says.
   *
   * @throws RemoteFailure
   */
  async post({ body, patience, secret, signal }: RemoteRequest): Promise<string> {
    const abort = new AbortController();
    const giveUp = () => abort.abort(this.#failure('closed', 'is asked no more'));
    const timeUp = () => abort.abort(this.#failure('late', 'does not answer in time'));
    if (this.#closed || signal?.aborted) giveUp();
    const timer = setTimeout(timeUp, patience.totalMs);
    signal?.addEventListener('abort', giveUp, { once: true });
    this.#underWay.add(giveUp);
    try {
      abort.signal.throwIfAborted();
      const response = await this.#client.post(this.#endpoint, {
        json: { model: this.#model.model, ...body },
        signal: abort.signal,
        timeout: patience.attemptMs,
        retry: { limit: patience.retries },
      });
      return await getText(response, this.#protocol.largestAnswerBytes, abort.signal);
    } catch (error) {
      throw abort.signal.aborted ? abort.signal.reason : this.#getFailure(error, secret);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
      this.#underWay.delete(giveUp);
    }
  }

  /** Gives up what is under way, and takes nothing more. */
  close(): void {
    this.#closed = true;
    for (const giveUp of this.#underWay) giveUp();
  }

  /** What an answer is that holds something else than was asked for. */
  unusable(what: string, cause?: unknown): RemoteFailure {
    return this.#failure('unusable', `answers ${what}`, cause);
  }

  #failure(kind: RemoteFailure['kind'], what: string, cause?: unknown): RemoteFailure {
    return new RemoteFailure(kind, `${this.#protocol.server} ${what}`, cause);
  }

  #getFailure(error: unknown, secret: boolean): RemoteFailure {
    if (error instanceof TimeoutError) return this.#failure('late', 'does not answer in time');
    if (error instanceof HTTPError) return this.#failureOfStatus(error, secret);
    if (error instanceof AnswerTooLarge) return this.unusable(error.message);
    return this.#failure('unreachable', 'cannot be reached', this.#loggable(getMessages(error)));
  }

  // The error of the library holds the request with its key, so it is never passed on.
  #failureOfStatus(error: HTTPError, secret: boolean): RemoteFailure {
    const { status } = error.response;
    if (status === 401 || status === 403) {
      // What the server says may quote the key.
      const what = this.#model.apiKey ? 'does not take the API key' : 'wants an API key';
      return this.#failure('key', `${what} (${status})`);
    }
    const said = getRefusal(error);
    const cause = secret ? undefined : this.#loggable(`${status}: ${said}`);
    if (saysTooLong(status, said)) return this.#failure('too long', 'refuses a text as too long', cause);
    if (status === 404 && /model/i.test(said)) return this.#failure('model', 'does not know the model (404)', cause);
    if (status === 400 || status === 422) return this.#failure('refused', 'refuses a text', cause);
    if (status === 429) return this.#failure('busy', 'takes no more requests for now (429)', cause);
    if (BUSY_STATUSES.includes(status) || status >= 500) return this.#failure('failing', `fails (${status})`, cause);
    return new RemoteFailure('address', `the address answers no ${this.#protocol.answers} (${status})`, cause);
  }

  #loggable(text: string): Error {
    const { apiKey } = this.#model;
    return new Error((apiKey ? text.replaceAll(apiKey, '[key]') : text).slice(0, LOGGED_CHARS));
  }
}

function isTooLong(error: Error): boolean {
  return error instanceof HTTPError && saysTooLong(error.response.status, getRefusal(error));
}

function saysTooLong(status: number, said: string): boolean {
  return status === 413 || ([400, 422, 500].includes(status) && SAYS_TOO_LONG.test(said));
}

/** Returns the beginning of the body of a refusal, or an empty text if it could not be read. */
function getRefusal({ data }: HTTPError): string {
  return typeof data === 'string' ? data.slice(0, MAX_REFUSAL_CHARS) : '';
}

class AnswerTooLarge extends Error {}

/**
 * The text of an answer's body. Rejects where it is larger than it may be, and as soon as the signal comes: Node's fetch
 * holds that weakly, and forgets it while a body is read (nodejs/undici, pull request 4984).
 */
async function getText({ body }: Response, largestBytes: number, signal: AbortSignal): Promise<string> {
  const reader = body?.getReader();
  const giveUp = () => void reader?.cancel(signal.reason).catch(() => {});
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await textFrom(reader, largestBytes, signal);
  } finally {
    signal.removeEventListener('abort', giveUp);
    // Of what is not wanted whole, no more is sent.
    giveUp();
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

async function textFrom(reader: Reader | undefined, largestBytes: number, signal: AbortSignal): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
    bytes += piece.value.length;
    if (bytes > largestBytes) throw new AnswerTooLarge(`more than ${largestBytes} bytes`);
    text += decoder.decode(piece.value, { stream: true });
  }
  signal.throwIfAborted();
  return text + decoder.decode();
}

/** What an error and its causes say: fetch itself says only that it failed. */
function getMessages(error: unknown): string {
  const messages: string[] = [];
  for (let cause = error; cause instanceof Error && messages.length < 4; cause = cause.cause) {
    messages.push(cause.message || String((cause as NodeJS.ErrnoException).code ?? cause.name));
  }
  return messages.join(': ');
}

/** What about a request to a model's server did not go as it should. */
export type FailureKind =
  /** The key is wrong or missing; `setting` says which. */
  | 'key'
  /** The server does not know the model. */
  | 'model'
  /** The address is of something else. */
  | 'address'
  /** Nobody answers there. */
  | 'unreachable'
  /** No answer came in time. */
  | 'late'
  /** Too many requests for now. */
  | 'busy'
  /** The server fails. */
  | 'failing'
  /** The server refuses what this request says, and would take others. */
  | 'refused'
  | 'too long'
  /** The answer is not what was asked for. */
  | 'unusable'
  /** Whoever asked gave up. */
  | 'closed';

/** Which of the three settings of a remote model to look at. */
export type RemoteSetting = 'url' | 'model' | 'apiKey';

const SETTINGS: Partial<Record<FailureKind, RemoteSetting>> = {
  key: 'apiKey',
  model: 'model',
  address: 'url',
  unreachable: 'url',
  late: 'url',
};

/**
 * A request to a model's server that failed. The message is half a sentence for whoever operates the service; neither
 * it nor the cause holds the key, nor what the server says of a request whose words no log may hold.
 */
export class RemoteFailure extends Error {
  override readonly name = 'RemoteFailure';
  readonly kind: FailureKind;

  constructor(kind: FailureKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }

  /** The setting to look at, where one is likely to be wrong. */
  get setting(): RemoteSetting | undefined {
    return SETTINGS[this.kind];
  }
}
