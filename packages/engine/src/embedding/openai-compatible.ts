import { setImmediate } from 'node:timers/promises';
import { formatCount } from '@memoryd/contract';
import {
  type Embedder,
  type EmbedderOption,
  EmbedderUnavailable,
  type Embedding,
  type EmbedPurpose,
} from '@memoryd/core/models';
import { getParts } from '@memoryd/minilm/parts';
import pLimit, { type LimitFunction } from 'p-limit';
import {
  type Protocol,
  RemoteFailure,
  type RemoteModel,
  RemoteModelClient,
  type RemoteSetting,
  type RetryPolicy,
} from '../remote-model.ts';
import { CallLimit, closedError, getVectors, MAX_QUERY_PARTS } from './embedding-scheduler.ts';
import { getEncodingMark, type InputTypes, NO_INPUT_TYPES, PLAIN_ENCODING, type Prefixes } from './encoding.ts';

/** Maximum texts per call of `embed`. */
const MAX_BATCH = 64;

/**
 * Maximum bytes of UTF-8 in a part, including its prefix: about 375 tokens of English, 500 of Chinese. The most common
 * open models support 512 tokens, and some servers silently truncate longer texts (Ollama, and Text Embeddings
 * Inference with `--auto-truncate`).
 */
const MAX_PART_BYTES = 1500;

/** Maximum bytes of a part that is not split further. A character can have 4 bytes, and a part should contain words. */
const MIN_CUT_BYTES = 64;

/** Number of parts that are cut from a text before yielding to the event loop. */
const PARTS_PER_TURN = 8;

/** Maximum parts of a request: at most 24,000 bytes of text. Text Embeddings Inference supports 32 parts. */
const MAX_REQUEST_PARTS = 16;

/** Maximum concurrent requests. Queries have their own slots, so that a query never waits for memories. */
const MAX_CONCURRENT_REQUESTS: Record<EmbedPurpose, number> = { query: 8, memory: 4 };

const PROBE_TEXT = 'memory';

const encoder = new TextEncoder();
const utf8 = (text: string) => encoder.encode(text);

/** A call to `embed`. If a request of the call fails, the remaining requests of the call are skipped. */
interface Call {
  purpose: EmbedPurpose;
  hasFailed: boolean;
}

/** A model, the prefixes of its texts and the input types of its requests; none if omitted. */
export type EmbeddingModel = RemoteModel & { prefixes?: Prefixes; inputTypes?: InputTypes };

/** The vector of a part. `tokens` is its weight in a mean: the number of bytes, because the token count is unknown. */
interface WeightedVector {
  vector: Float32Array;
  tokens: number;
}

/**
 * Opens a model behind the OpenAI embeddings protocol, and detects its dimensions with a probe. A memory longer than
 * 1,500 bytes gets one vector for each part, and a part that the server rejects as too long is split further. A query
 * gets the mean of its first eight parts.
 *
 * The model id consists of the model's name, the host and path of its server, and its dimensions. The host is included,
 * because the same name can mean different models on different hosts. Port and scheme are not included, because they
 * can change while the model stays the same. Prefixes and input types add a suffix.
 */
export async function openOpenAiCompatible(model: EmbeddingModel, signal: AbortSignal): Promise<Embedder> {
  const requests = new Requests(model);
  const abort = () => requests.close();
  signal.addEventListener('abort', abort, { once: true });
  try {
    signal.throwIfAborted();
    const [vector] = await requests.post([PROBE_TEXT], 'opening');
    return new OpenAiCompatible(model, requests, (vector as Float32Array).length);
  } catch (error) {
    if (!(error instanceof InputsRejected)) throw error;
    const { cause } = error;
    throw new EmbedderUnavailable('the embedding server rejects every text', { option: 'embedder', cause });
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

class OpenAiCompatible implements Embedder {
  readonly modelId: string;
  readonly dimensions: number;
  readonly maxBatchSize = MAX_BATCH;
  readonly #prefixes: Prefixes;
  readonly #requests: Requests;
  readonly #slots: Record<EmbedPurpose, LimitFunction> = {
    query: pLimit(MAX_CONCURRENT_REQUESTS.query),
    memory: pLimit(MAX_CONCURRENT_REQUESTS.memory),
  };
  readonly #limit = new CallLimit();
  #requestParts = MAX_REQUEST_PARTS;

  constructor(
    { url, model, prefixes = PLAIN_ENCODING.prefixes, inputTypes = NO_INPUT_TYPES }: EmbeddingModel,
    requests: Requests,
    dimensions: number,
  ) {
    const { hostname, pathname } = new URL(url);
    const mark = getEncodingMark({ ...PLAIN_ENCODING, prefixes, inputTypes });
    this.modelId = `openai:${model}@${hostname}${pathname.replace(/\/+$/, '')}:${dimensions}${mark}`;
    this.#prefixes = prefixes;
    this.dimensions = dimensions;
    this.#requests = requests;
  }

  async embed(
    texts: readonly string[],
    purpose: EmbedPurpose,
    maxParts = Number.POSITIVE_INFINITY,
  ): Promise<Embedding[]> {
    if (texts.length > MAX_BATCH) throw new RangeError(`at most ${MAX_BATCH} texts can be embedded at once`);
    return this.#limit.count(purpose, () => this.#embed(texts, purpose, maxParts));
  }

  async close(): Promise<void> {
    this.#requests.close();
  }

  async #embed(texts: readonly string[], purpose: EmbedPurpose, maxParts: number): Promise<Embedding[]> {
    const split: SplitText[] = [];
    const maxBytes = MAX_PART_BYTES - utf8(this.#prefixes[purpose]).length;
    for (const text of texts) split.push(await splitText(text, { purpose, maxBytes, maxParts }));
    const embedded = await this.#embedParts(
      split.flatMap(({ parts }) => parts),
      purpose,
    );
    return split.map(({ parts, next }) => {
      const vectors = getVectors(embedded.splice(0, parts.length).flat(), purpose);
      return { vectors, ...(next !== undefined && { next }) };
    });
  }

  async #embedParts(parts: readonly string[], purpose: EmbedPurpose): Promise<WeightedVector[][]> {
    const call: Call = { purpose, hasFailed: false };
    const requests: Promise<WeightedVector[][]>[] = [];
    for (let from = 0; from < parts.length; from += this.#requestParts) {
      const batch = parts.slice(from, from + this.#requestParts);
      requests.push(this.#slots[purpose](() => this.#askOrFail(batch, call)));
    }
    return (await Promise.all(requests)).flat();
  }

  async #askOrFail(parts: readonly string[], call: Call): Promise<WeightedVector[][]> {
    try {
      return await this.#ask(parts, call);
    } catch (error) {
      call.hasFailed = true;
      throw error;
    }
  }

  /**
   * Returns one vector for each part, several for a part that the server rejects as too long, or none if the call has
   * failed.
   */
  async #ask(parts: readonly string[], call: Call): Promise<WeightedVector[][]> {
    if (call.hasFailed) return [];
    try {
      const vectors = await this.#post(parts, call.purpose);
      return vectors.map((vector, i) => [{ vector, tokens: utf8(parts[i] as string).length }]);
    } catch (error) {
      if (!(error instanceof InputsRejected && error.tooLong)) throw error;
      const middle = Math.ceil(parts.length / 2);
      if (parts.length > 1) {
        return [...(await this.#ask(parts.slice(0, middle), call)), ...(await this.#ask(parts.slice(middle), call))];
      }
      const [part] = parts as [string];
      const bytes = utf8(part).length;
      if (bytes <= MIN_CUT_BYTES) throw error;
      const halves = [...getParts(part, utf8, Math.max(MIN_CUT_BYTES, Math.ceil(bytes / 2)))];
      return [(await this.#ask(halves, call)).flat()];
    }
  }

  async #post(parts: readonly string[], purpose: EmbedPurpose): Promise<Float32Array[]> {
    try {
      const inputs = parts.map((part) => this.#prefixes[purpose] + part);
      const vectors = await this.#requests.post(inputs, purpose);
      if (parts.length === this.#requestParts && this.#requestParts < MAX_REQUEST_PARTS) this.#requestParts++;
      this.#assertDimensions(vectors);
      return vectors;
    } catch (error) {
      // Requests to a slow server become smaller, and grow again while the server responds in time.
      if (error instanceof ResponseTimeout && parts.length > 1) this.#requestParts = Math.floor(parts.length / 2);
      throw error;
    }
  }

  #assertDimensions(vectors: readonly Float32Array[]): void {
    const length = vectors[0]?.length;
    if (length === this.dimensions) return;
    const problem = `returned vectors of ${length} dimensions instead of ${this.dimensions}: its model has changed`;
    throw new EmbedderUnavailable(`the embedding server ${problem}`, { option: 'embedder' });
  }
}

/** The non-blank parts of a text, and the offset of the rest of a memory; see `Embedding.next`. */
interface SplitText {
  parts: string[];
  next?: number;
}

/**
 * Splits a text into parts of at most `maxBytes` bytes; a memory into at most `maxParts` parts including blank ones, a
 * query into at most `MAX_QUERY_PARTS`. Yields to the event loop between parts, because splitting a megabyte takes a few
 * tenths of a second. Unpaired surrogates, which UTF-8 cannot encode, become U+FFFD.
 */
async function splitText(
  text: string,
  { purpose, maxBytes, maxParts }: { purpose: EmbedPurpose; maxBytes: number; maxParts: number },
): Promise<SplitText> {
  const parts: string[] = [];
  let count = 0;
  let end = 0;
  for (const part of getParts(text.toWellFormed(), utf8, maxBytes)) {
    if (part.trim() !== '') parts.push(part);
    end += part.length;
    if (purpose === 'query' && parts.length === MAX_QUERY_PARTS) break;
    if (++count === maxParts) break;
    if (parts.length % PARTS_PER_TURN === 0) await setImmediate();
  }
  return purpose === 'memory' && end < text.length ? { parts, next: end } : { parts };
}

type Purpose = EmbedPurpose | 'opening';

/**
 * Timeouts and retries by purpose. Loading a model on the server can take tens of seconds. The timeout of a query is
 * shorter, because recall can fall back to word search. If the retries for a memory fail, the queue of pending
 * embeddings retries at longer intervals.
 */
const PATIENCE: Record<Purpose, RetryPolicy> = {
  opening: { attemptMs: 30_000, totalMs: 30_000, retries: 0 },
  query: { attemptMs: 2000, totalMs: 2000, retries: 1 },
  memory: { attemptMs: 30_000, totalMs: 90_000, retries: 3 },
};

const PROTOCOL: Protocol = {
  path: '/embeddings',
  server: 'the embedding server',
  answers: 'embeddings',
  // 16 vectors of 8,192 numbers of 25 characters are 3 MiB.
  maxResponseBytes: 16 * 1024 * 1024,
};

const OPTIONS: Record<RemoteSetting, EmbedderOption> = {
  url: 'embeddingUrl',
  model: 'embedder',
  apiKey: 'embeddingApiKey',
};

/** The server rejected the inputs of a request, but may accept other inputs. */
class InputsRejected extends Error {
  override readonly name = 'InputsRejected';
  readonly tooLong: boolean;

  constructor({ kind, message, cause }: RemoteFailure) {
    super(message, { cause });
    this.tooLong = kind === 'too long';
  }
}

/** The server did not respond in time. */
class ResponseTimeout extends EmbedderUnavailable {}

/** Sends embedding requests to a model. The time of a request and the size of its response are limited. */
class Requests {
  readonly #client: RemoteModelClient;
  readonly #inputTypes: InputTypes;

  /** @throws EmbedderUnavailable if the API key cannot be a header value */
  constructor({ inputTypes = NO_INPUT_TYPES, ...model }: EmbeddingModel) {
    this.#inputTypes = inputTypes;
    try {
      this.#client = new RemoteModelClient(model, PROTOCOL);
    } catch (error) {
      throw toEmbedderError(error);
    }
  }

  /**
   * Returns one unit vector for each input, in order.
   *
   * @throws InputsRejected if the server rejects the inputs
   * @throws EmbedderUnavailable if the request fails for another reason or the response is invalid
   * @throws MemoryError UNAVAILABLE if the client is closed
   */
  async post(inputs: readonly string[], purpose: Purpose): Promise<Float32Array[]> {
    const inputType = this.#inputTypes[purpose === 'query' ? 'query' : 'memory'];
    try {
      const response = await this.#client.post({
        body: { input: inputs, encoding_format: 'float', ...(inputType !== '' && { input_type: inputType }) },
        patience: PATIENCE[purpose],
        // The probe text is not confidential, so error messages of the server may be logged.
        secret: purpose !== 'opening',
      });
      return parseVectors(response, inputs.length);
    } catch (error) {
      throw toEmbedderError(error);
    }
  }

  /** Aborts running requests and rejects new requests. */
  close(): void {
    this.#client.close();
  }
}

function toEmbedderError(error: unknown): unknown {
  if (!(error instanceof RemoteFailure)) return error;
  const { kind, message, setting, cause } = error;
  if (kind === 'closed') return closedError();
  if (kind === 'refused' || kind === 'too long') return new InputsRejected(error);
  const Unavailable = kind === 'late' ? ResponseTimeout : EmbedderUnavailable;
  return new Unavailable(message, { ...(setting && { option: OPTIONS[setting] }), cause });
}

/** The part of a response that is read; https://platform.openai.com/docs/api-reference/embeddings/create */
interface EmbeddingResponse {
  data: { index: number; embedding: number[] }[];
}

/**
 * Returns the unit vectors of a response, sorted by the index of their input.
 *
 * @throws EmbedderUnavailable unless the response has one valid vector for each input, all of the same length
 */
function parseVectors(text: string, inputs: number): Float32Array[] {
  const data = getData(text);
  if (data.length !== inputs)
    throw unusable(`${formatCount(data.length, 'vector')} for ${formatCount(inputs, 'text')}`);
  const vectors: Float32Array[] = [];
  for (const item of data) {
    if (!isItem(item))
      throw unusable('an item without a vector or without an index that is a whole number of at least 0');
    vectors[item.index] = unitVector(item.embedding);
  }
  for (let i = 0; i < inputs; i++) if (!vectors[i]) throw unusable(`no vector with index ${i}`);
  if (vectors.some(({ length }) => length !== vectors[0]?.length)) throw unusable('vectors of different lengths');
  return vectors;
}

function getData(text: string): unknown[] {
  let response: Partial<EmbeddingResponse> | null;
  try {
    response = JSON.parse(text);
  } catch (cause) {
    // The parser's message quotes the response, so only the length of the response and the error name are logged.
    throw new EmbedderUnavailable('the embedding server returned a response that is not JSON', {
      option: 'embeddingUrl',
      cause: new Error(`${formatCount(text.length, 'character')}, ${(cause as Error).name}`),
    });
  }
  if (!Array.isArray(response?.data)) throw unusable('no list of vectors');
  return response.data;
}

function isItem(item: unknown): item is EmbeddingResponse['data'][number] {
  const { index, embedding } = (item ?? {}) as Partial<EmbeddingResponse['data'][number]>;
  return Number.isInteger(index) && (index as number) >= 0 && Array.isArray(embedding) && embedding.length > 0;
}

function unitVector(embedding: unknown[]): Float32Array {
  if (!embedding.every((value) => typeof value === 'number'))
    throw unusable('a vector with values that are not numbers');
  const length = Math.hypot(...embedding);
  if (!Number.isFinite(length) || length === 0) throw unusable('a vector that is zero or infinite');
  return Float32Array.from(embedding, (value) => value / length);
}

function unusable(content: string): EmbedderUnavailable {
  return new EmbedderUnavailable(`the embedding server returned ${content}`, { option: 'embeddingUrl' });
}
