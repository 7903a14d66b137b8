import ky, { HTTPError, type KyInstance, TimeoutError } from 'ky';
import type { EmbedPurpose } from '../../ports/embedder.ts';
import { EmbedderUnavailable } from '../../ports/embedder.ts';
import { closedError } from '../lanes.ts';
import { vectorsOfAnswer } from './answer.ts';

/** A model behind the OpenAI embeddings protocol. */
export interface RemoteModel {
  /** What comes before `/embeddings`; a query string stays. */
  url: string;
  model: string;
  /** Absent for servers that want none. */
  apiKey?: string;
}

type Purpose = EmbedPurpose | 'opening';

/**
 * How long to try: a model that has to be loaded first takes tens of seconds, but whoever recalls would rather have an
 * answer by words. Retries back off from .3 s, doubling, with jitter; the queue that asks has longer rests of its own.
 */
const PATIENCE: Record<Purpose, { attemptMs: number; totalMs: number; retries: number }> = {
  opening: { attemptMs: 30_000, totalMs: 30_000, retries: 0 },
  query: { attemptMs: 2000, totalMs: 2000, retries: 1 },
  memory: { attemptMs: 30_000, totalMs: 90_000, retries: 3 },
};

const BUSY_STATUSES = [408, 429, 500, 502, 503, 504];

/** Longest that a server's own `Retry-After` is waited for. */
const LONGEST_RETRY_AFTER_MS = 30_000;
const LONGEST_BACKOFF_MS = 5000;

/** Largest answer: 16 vectors of 8,192 numbers of 25 characters are 3 MiB. */
const LARGEST_ANSWER_BYTES = 16 * 1024 * 1024;

/** How much of a refusal is read, and how much of that is logged. */
const LARGEST_REFUSAL_BYTES = 16 * 1024;
const LOGGED_CHARS = 300;

/** In the words of OpenAI, vLLM, Text Embeddings Inference, llama.cpp and LiteLLM, whatever the status. */
const SAYS_TOO_LONG =
  /too (long|large|many tokens)|context.?(length|window|size)|max\w*.{0,30}(tokens|length)|less than \d+ tokens/i;

/** The server refuses these inputs, and would take others. */
export class InputsRefused extends Error {
  override readonly name = 'InputsRefused';
  readonly tooLong: boolean;

  constructor(tooLong: boolean, cause: unknown) {
    super(`the embedding server refuses ${tooLong ? 'a text as too long' : 'a text'}`, { cause });
    this.tooLong = tooLong;
  }
}

/** No answer came in time. */
export class AnsweredTooLate extends EmbedderUnavailable {}

/** Requests to one model, each bounded in time and size. */
export class Requests {
  readonly #model: RemoteModel;
  readonly #endpoint: URL;
  readonly #client: KyInstance;
  readonly #underWay = new Set<AbortController>();
  #closed = false;

  /** @throws EmbedderUnavailable for a key that no header can hold */
  constructor(model: RemoteModel) {
    // Asked here because fetch quotes what it refuses.
    if (model.apiKey && !/^[!-~]+$/.test(model.apiKey)) {
      throw new EmbedderUnavailable('the API key holds blanks or other signs that no key has', {
        option: 'embeddingApiKey',
      });
    }
    this.#model = model;
    this.#endpoint = new URL(model.url);
    this.#endpoint.pathname = `${this.#endpoint.pathname.replace(/\/+$/, '')}/embeddings`;
    this.#client = ky.create({
      headers: model.apiKey ? { authorization: `Bearer ${model.apiKey}` } : {},
      retry: {
        methods: ['post'],
        statusCodes: BUSY_STATUSES,
        afterStatusCodes: [429, 503],
        maxRetryAfter: LONGEST_RETRY_AFTER_MS,
        backoffLimit: LONGEST_BACKOFF_MS,
        jitter: true,
        shouldRetry: async ({ error }) => ((await this.#isTooLong(error)) ? false : undefined),
      },
    });
  }

  /**
   * One unit vector for each input, in their order.
   *
   * @throws InputsRefused, or EmbedderUnavailable when the server does not answer as it should, or UNAVAILABLE when
   * closed
   */
  async post(inputs: readonly string[], purpose: Purpose): Promise<Float32Array[]> {
    if (this.#closed) throw closedError();
    const { attemptMs, totalMs, retries } = PATIENCE[purpose];
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), totalMs);
    this.#underWay.add(abort);
    try {
      const response = await this.#client.post(this.#endpoint, {
        json: { model: this.#model.model, input: inputs, encoding_format: 'float' },
        signal: abort.signal,
        timeout: attemptMs,
        retry: { limit: retries },
      });
      return vectorsOfAnswer(await textOf(response, LARGEST_ANSWER_BYTES), inputs.length);
    } catch (error) {
      throw this.#closed ? closedError() : await this.#failureOf(error, purpose, abort.signal.aborted);
    } finally {
      clearTimeout(timer);
      this.#underWay.delete(abort);
    }
  }

  /** Gives up what is under way, and takes nothing more. */
  close(): void {
    this.#closed = true;
    for (const abort of this.#underWay) abort.abort();
  }

  async #failureOf(error: unknown, purpose: Purpose, late: boolean): Promise<Error> {
    if (error instanceof EmbedderUnavailable) return error;
    if (late || error instanceof TimeoutError) {
      return new AnsweredTooLate('the embedding server does not answer in time', { option: 'embeddingUrl' });
    }
    if (error instanceof HTTPError) return await this.#failureOfStatus(error.response, purpose);
    return new EmbedderUnavailable('the embedding server cannot be reached', {
      option: 'embeddingUrl',
      cause: this.#loggable(messagesOf(error)),
    });
  }

  // The error of the library holds the request with its key, so it is never passed on.
  async #failureOfStatus(response: Response, purpose: Purpose): Promise<Error> {
    const { status } = response;
    if (status === 401 || status === 403) {
      // What the server says may quote the key.
      const what = this.#model.apiKey ? 'does not take the API key' : 'wants an API key';
      return new EmbedderUnavailable(`the embedding server ${what} (${status})`, { option: 'embeddingApiKey' });
    }
    const said = await refusalOf(response);
    // It may also quote the texts, which no log may hold; what opening asks with is no secret.
    const cause = purpose === 'opening' ? this.#loggable(`${status}: ${said}`) : undefined;
    if (saysTooLong(status, said)) return new InputsRefused(true, cause);
    if (status === 404 && /model/i.test(said)) {
      return new EmbedderUnavailable('the embedding server does not know the model (404)', {
        option: 'embedder',
        cause,
      });
    }
    if (status === 400 || status === 422) return new InputsRefused(false, cause);
    if (status === 429) {
      return new EmbedderUnavailable('the embedding server takes no more requests for now (429)', { cause });
    }
    if (BUSY_STATUSES.includes(status) || status >= 500)
      return new EmbedderUnavailable(`the embedding server fails (${status})`, { cause });
    return new EmbedderUnavailable(`the address answers no embeddings (${status})`, { option: 'embeddingUrl', cause });
  }

  #loggable(text: string): Error {
    const { apiKey } = this.#model;
    return new Error((apiKey ? text.replaceAll(apiKey, '[key]') : text).slice(0, LOGGED_CHARS));
  }

  async #isTooLong(error: Error): Promise<boolean> {
    if (!(error instanceof HTTPError)) return false;
    return saysTooLong(error.response.status, await refusalOf(error.response.clone()));
  }
}

function saysTooLong(status: number, said: string): boolean {
  return status === 413 || ([400, 422, 500].includes(status) && SAYS_TOO_LONG.test(said));
}

async function refusalOf(response: Response): Promise<string> {
  return await textOf(response, LARGEST_REFUSAL_BYTES).catch(() => '');
}

/** The text of an answer's body. Rejects where it is larger than it may be. */
async function textOf(response: Response, largestBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > largestBytes) throw new Error(`an answer of more than ${largestBytes} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** What an error and its causes say: fetch itself says only that it failed. */
function messagesOf(error: unknown): string {
  const messages: string[] = [];
  for (let cause = error; cause instanceof Error && messages.length < 4; cause = cause.cause) {
    messages.push(cause.message || String((cause as NodeJS.ErrnoException).code ?? cause.name));
  }
  return messages.join(': ');
}
