import { setImmediate } from 'node:timers/promises';
import { getParts } from '@memoryd/minilm/parts';
import pLimit, { type LimitFunction } from 'p-limit';
import {
  type Embedder,
  type EmbedderOption,
  EmbedderUnavailable,
  type Embedding,
  type EmbedPurpose,
} from '../ports/embedder.ts';
import {
  type Patience,
  type Protocol,
  RemoteFailure,
  type RemoteModel,
  RemoteModelClient,
  type RemoteSetting,
} from '../remote-model.ts';
import { getEncodingMark, PLAIN_ENCODING, type Prefixes } from './encoding.ts';
import { CallLimit, closedError, getVectors, QUERY_PARTS } from './lanes.ts';

/** Most texts of one call. */
const MAX_BATCH = 64;

/**
 * Maximum bytes of UTF-8 in a part, its prefix included: about 375 tokens of English, 500 of Chinese. The commonest open
 * models take 512, and some servers cut longer texts without a word (Ollama, and Text Embeddings Inference with
 * `--auto-truncate`).
 */
const PART_BYTES = 1500;

/** Parts of fewer bytes are not cut again: a character may have 4, and words should be left. */
const MIN_CUT_BYTES = 64;

/** Parts that are cut without letting other work go on. */
const PARTS_A_TURN = 8;

/** Most parts of one request, which bounds it to 24 KiB of text; Text Embeddings Inference takes 32. */
const REQUEST_PARTS = 16;

/** Requests at the same time. Queries have slots of their own, so that they never wait for memories. */
const SLOTS: Record<EmbedPurpose, number> = { query: 8, memory: 4 };

const PROBE = 'memory';

const encoder = new TextEncoder();
const utf8 = (text: string) => encoder.encode(text);

/** A call under way. Once one of its requests has failed, those that have not been sent are of no use any more. */
interface Call {
  purpose: EmbedPurpose;
  hasFailed: boolean;
}

/** A model, and the prefixes that it gets before each text; none if absent. */
export type EmbeddingModel = RemoteModel & { prefixes?: Prefixes };

/** A part's vector, weighted by its bytes. */
interface WeightedVector {
  vector: Float32Array;
  tokens: number;
}

/**
 * Opens a model behind the OpenAI embeddings protocol and learns the length of its vectors from a first answer. A
 * memory longer than 1,500 bytes gives one vector for each part of it, and a part that the server refuses as too long
 * is cut again; a query gives the mean of its first eight parts.
 *
 * Its id is made of the model's name, the host and path that serve it, and the length of its vectors: one name means
 * different models on different hosts, while a port or a scheme changes without the model. Prefixes end the id as well.
 */
export async function openOpenAiCompatible(model: EmbeddingModel, signal: AbortSignal): Promise<Embedder> {
  const requests = new Requests(model);
  const giveUp = () => requests.close();
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    signal.throwIfAborted();
    const [vector] = await requests.post([PROBE], 'opening');
    return new OpenAiCompatible(model, requests, (vector as Float32Array).length);
  } catch (error) {
    if (!(error instanceof InputsRefused)) throw error;
    const { cause } = error;
    throw new EmbedderUnavailable('the embedding server refuses every text', { option: 'embedder', cause });
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

class OpenAiCompatible implements Embedder {
  readonly modelId: string;
  readonly dimensions: number;
  readonly largestBatch = MAX_BATCH;
  readonly #prefixes: Prefixes;
  readonly #requests: Requests;
  readonly #slots: Record<EmbedPurpose, LimitFunction> = { query: pLimit(SLOTS.query), memory: pLimit(SLOTS.memory) };
  readonly #limit = new CallLimit();
  #requestParts = REQUEST_PARTS;

  constructor(
    { url, model, prefixes = PLAIN_ENCODING.prefixes }: EmbeddingModel,
    requests: Requests,
    dimensions: number,
  ) {
    const { hostname, pathname } = new URL(url);
    const mark = getEncodingMark({ ...PLAIN_ENCODING, prefixes });
    this.modelId = `openai:${model}@${hostname}${pathname.replace(/\/+$/, '')}:${dimensions}${mark}`;
    this.#prefixes = prefixes;
    this.dimensions = dimensions;
    this.#requests = requests;
  }

  async embed(texts: readonly string[], purpose: EmbedPurpose): Promise<Embedding[]> {
    if (texts.length > MAX_BATCH) throw new RangeError(`at most ${MAX_BATCH} texts can be embedded at once`);
    return this.#limit.count(purpose, () => this.#embed(texts, purpose));
  }

  async close(): Promise<void> {
    this.#requests.close();
  }

  async #embed(texts: readonly string[], purpose: EmbedPurpose): Promise<Embedding[]> {
    const parts: string[][] = [];
    const maxBytes = PART_BYTES - utf8(this.#prefixes[purpose]).length;
    for (const text of texts) parts.push(await sayingParts(text, purpose, maxBytes));
    const embedded = await this.#embedParts(parts.flat(), purpose);
    return parts.map(({ length }) => ({ vectors: getVectors(embedded.splice(0, length).flat(), purpose) }));
  }

  async #embedParts(parts: readonly string[], purpose: EmbedPurpose): Promise<WeightedVector[][]> {
    const call: Call = { purpose, hasFailed: false };
    const requests: Promise<WeightedVector[][]>[] = [];
    for (let from = 0; from < parts.length; from += this.#requestParts) {
      const some = parts.slice(from, from + this.#requestParts);
      requests.push(this.#slots[purpose](() => this.#askOrFail(some, call)));
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

  /** One vector for each part, or several for one that the server refuses as too long; none where the call has failed. */
  async #ask(parts: readonly string[], call: Call): Promise<WeightedVector[][]> {
    if (call.hasFailed) return [];
    try {
      const vectors = await this.#post(parts, call.purpose);
      return vectors.map((vector, i) => [{ vector, tokens: utf8(parts[i] as string).length }]);
    } catch (error) {
      if (!(error instanceof InputsRefused && error.tooLong)) throw error;
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
      if (parts.length === this.#requestParts && this.#requestParts < REQUEST_PARTS) this.#requestParts++;
      this.#assertDimensions(vectors);
      return vectors;
    } catch (error) {
      // A slow server gets less at a time, and more again while it keeps up.
      if (error instanceof AnsweredTooLate && parts.length > 1) this.#requestParts = Math.floor(parts.length / 2);
      throw error;
    }
  }

  #assertDimensions(vectors: readonly Float32Array[]): void {
    const length = vectors[0]?.length;
    if (length === this.dimensions) return;
    const what = `answers vectors of ${length} numbers instead of ${this.dimensions}: its model is another now`;
    throw new EmbedderUnavailable(`the embedding server ${what}`, { option: 'embedder' });
  }
}

/**
 * Returns the parts of a text that say something, of at most `maxBytes`, in turns with other work: a megabyte takes some tenths of a second. Half
 * characters, which UTF-8 does not have, become U+FFFD.
 */
async function sayingParts(text: string, purpose: EmbedPurpose, maxBytes: number): Promise<string[]> {
  const parts: string[] = [];
  for (const part of getParts(text.toWellFormed(), utf8, maxBytes)) {
    if (part.trim() !== '') parts.push(part);
    if (purpose === 'query' && parts.length === QUERY_PARTS) break;
    if (parts.length % PARTS_A_TURN === 0) await setImmediate();
  }
  return parts;
}

type Purpose = EmbedPurpose | 'opening';

/**
 * How long to try: a model that has to be loaded first takes tens of seconds, but whoever recalls would rather have an
 * answer by words. The queue that asks has longer rests of its own.
 */
const PATIENCE: Record<Purpose, Patience> = {
  opening: { attemptMs: 30_000, totalMs: 30_000, retries: 0 },
  query: { attemptMs: 2000, totalMs: 2000, retries: 1 },
  memory: { attemptMs: 30_000, totalMs: 90_000, retries: 3 },
};

const PROTOCOL: Protocol = {
  path: '/embeddings',
  server: 'the embedding server',
  answers: 'embeddings',
  // 16 vectors of 8,192 numbers of 25 characters are 3 MiB.
  largestAnswerBytes: 16 * 1024 * 1024,
};

const OPTIONS: Record<RemoteSetting, EmbedderOption> = {
  url: 'embeddingUrl',
  model: 'embedder',
  apiKey: 'embeddingApiKey',
};

/** The server refuses these inputs, and would take others. */
class InputsRefused extends Error {
  override readonly name = 'InputsRefused';
  readonly tooLong: boolean;

  constructor({ kind, message, cause }: RemoteFailure) {
    super(message, { cause });
    this.tooLong = kind === 'too long';
  }
}

/** No answer came in time. */
class AnsweredTooLate extends EmbedderUnavailable {}

/** Requests to one model, each bounded in time and size. */
class Requests {
  readonly #client: RemoteModelClient;

  /** @throws EmbedderUnavailable for a key that no header can hold */
  constructor(model: RemoteModel) {
    try {
      this.#client = new RemoteModelClient(model, PROTOCOL);
    } catch (error) {
      throw getError(error);
    }
  }

  /**
   * One unit vector for each input, in their order.
   *
   * @throws InputsRefused, or EmbedderUnavailable when the server does not answer as it should, or UNAVAILABLE when
   * closed
   */
  async post(inputs: readonly string[], purpose: Purpose): Promise<Float32Array[]> {
    try {
      const answer = await this.#client.post({
        body: { input: inputs, encoding_format: 'float' },
        patience: PATIENCE[purpose],
        // What opening asks with is no secret.
        secret: purpose !== 'opening',
      });
      return vectorsOfAnswer(answer, inputs.length);
    } catch (error) {
      throw getError(error);
    }
  }

  /** Gives up what is under way, and takes nothing more. */
  close(): void {
    this.#client.close();
  }
}

function getError(error: unknown): unknown {
  if (!(error instanceof RemoteFailure)) return error;
  const { kind, message, setting, cause } = error;
  if (kind === 'closed') return closedError();
  if (kind === 'refused' || kind === 'too long') return new InputsRefused(error);
  const Unavailable = kind === 'late' ? AnsweredTooLate : EmbedderUnavailable;
  return new Unavailable(message, { ...(setting && { option: OPTIONS[setting] }), cause });
}

/** The part of an answer that matters; https://platform.openai.com/docs/api-reference/embeddings/create */
interface Answer {
  data: { index: number; embedding: number[] }[];
}

/**
 * The unit vectors of an answer in the order of the inputs, wherever in it they stand.
 *
 * @throws EmbedderUnavailable for an answer that does not hold one usable vector for each input, all of one length
 */
function vectorsOfAnswer(text: string, inputs: number): Float32Array[] {
  const data = getData(text);
  if (data.length !== inputs) throw unusable(`${data.length} vectors for ${inputs} texts`);
  const vectors: Float32Array[] = [];
  for (const item of data) {
    if (!isItem(item)) throw unusable('something other than vectors');
    vectors[item.index] = unitVector(item.embedding);
  }
  for (let i = 0; i < inputs; i++) if (!vectors[i]) throw unusable('two vectors for one text');
  if (vectors.some(({ length }) => length !== vectors[0]?.length)) throw unusable('vectors of several lengths');
  return vectors;
}

function getData(text: string): unknown[] {
  let answer: Partial<Answer> | null;
  try {
    answer = JSON.parse(text);
  } catch (cause) {
    // What the parser quotes is the server's; where it stopped is enough.
    throw new EmbedderUnavailable('the embedding server answers no JSON', {
      option: 'embeddingUrl',
      cause: new Error(`${text.length} characters, ${(cause as Error).name}`),
    });
  }
  if (!Array.isArray(answer?.data)) throw unusable('no list of vectors');
  return answer.data;
}

function isItem(item: unknown): item is Answer['data'][number] {
  const { index, embedding } = (item ?? {}) as Partial<Answer['data'][number]>;
  return Number.isInteger(index) && (index as number) >= 0 && Array.isArray(embedding) && embedding.length > 0;
}

function unitVector(embedding: unknown[]): Float32Array {
  if (!embedding.every((value) => typeof value === 'number')) throw unusable('vectors of other things than numbers');
  const length = Math.hypot(...embedding);
  if (!Number.isFinite(length) || length === 0) throw unusable('vectors without a direction');
  return Float32Array.from(embedding, (value) => value / length);
}

function unusable(what: string): EmbedderUnavailable {
  return new EmbedderUnavailable(`the embedding server answers ${what}`, { option: 'embeddingUrl' });
}
