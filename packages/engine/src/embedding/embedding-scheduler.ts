import { MemoryError } from '@memoryd/contract/errors';
import { EMBEDDING_LIMITS, type Embedder, type Embedding, type EmbedPurpose } from '@memoryd/core/models';
import { type EmbeddedPart, getWindow, STATE_SIZE, WINDOW_LENGTH } from '@memoryd/minilm/parts';
import type { Lane } from './lanes.ts';
import type { ModelThreads } from './model-threads.ts';
import type { EmbedParts } from './thread.ts';

/**
 * Maximum total characters of the texts that are embedded in one step; a single text may be longer. All texts of a step
 * finish together, so a large step delays its first text. The limit for queries is low, because a client waits for each
 * query, and only short texts gain from batching.
 */
const STEP_CHARS: Record<EmbedPurpose, number> = { query: 512, memory: WINDOW_LENGTH };

/** Maximum steps of short texts that begin during one step of a long text, so that long texts are always embedded. */
const MAX_STEPS_BESIDE_LONG = 8;

/** A call to `embed`. The call is queued while it has texts that are not part of a step. */
interface Call {
  purpose: EmbedPurpose;
  lane: Lane;
  /** Maximum parts of each text. */
  maxParts: number;
  texts: Text[];
  /** Result of each finished text. */
  embeddings: Embedding[];
  /** Number of unfinished texts. */
  pending: number;
  resolve(embeddings: Embedding[]): void;
  reject(error: unknown): void;
}

/**
 * A text of a call. `parts` has the embedded parts that contain tokens, `partCount` is the number of all embedded parts.
 * The next part begins at the offset `from`.
 */
interface Text {
  call: Call;
  index: number;
  content: string;
  parts: EmbeddedPart[];
  partCount: number;
  from: number;
}

/** The queued calls of one lane and the running steps: one, or of queries as many as the model can run at once. */
interface LaneQueue {
  calls: Call[];
  steps: Set<Promise<void>>;
}

/** How many queries a model can run at once. `grow` is called when a query has to wait. */
type QueryCapacity = Pick<ModelThreads, 'capacity' | 'grow'>;

const ONE_QUERY: QueryCapacity = { capacity: 1, grow: () => {} };

/**
 * A fair scheduler for a model, with a queue for each of the `LANES`. The model runs queries first, so that a query waits
 * for at most one run of memory parts, and short texts before long texts. A step can embed several texts,
 * because some models embed a batch faster than its texts one by one. Steps alternate between calls after each text, and
 * between texts after each part, so that neither a long text nor a call with many texts delays other calls.
 */
export class EmbeddingScheduler {
  readonly #embedParts: EmbedParts;
  readonly #textsTogether: number;
  readonly #queries: QueryCapacity;
  readonly #limit = new CallLimit();
  readonly #queues: Record<Lane, LaneQueue> = { query: createQueue(), short: createQueue(), long: createQueue() };
  /** Number of steps of short texts that began during the running step of a long text. */
  #stepsBesideLong = 0;
  #closed = false;

  /** @param textsTogether maximum texts of a step */
  constructor(embedParts: EmbedParts, textsTogether: number, queries: QueryCapacity = ONE_QUERY) {
    this.#embedParts = embedParts;
    this.#queries = queries;
    this.#textsTogether = textsTogether;
  }

  /**
   * Embeds texts. Throws UNAVAILABLE if too many calls are in progress (see `CALL_LIMITS`) or the scheduler is closed.
   * Also throws errors of the model.
   *
   * @param maxParts see `Embedder.embed`
   */
  async embed(
    texts: readonly string[],
    purpose: EmbedPurpose,
    maxParts = Number.POSITIVE_INFINITY,
  ): Promise<Embedding[]> {
    if (this.#closed) throw closedError();
    return this.#limit.count(purpose, async () => (texts.length === 0 ? [] : this.#enqueue(texts, purpose, maxParts)));
  }

  /** Rejects all calls and resolves when the model is idle. */
  async close(): Promise<void> {
    this.#closed = true;
    const queues = Object.values(this.#queues);
    for (const { calls } of queues) for (const call of [...calls]) this.#fail(call, closedError());
    await Promise.all(queues.flatMap(({ steps }) => [...steps]));
  }

  #enqueue(texts: readonly string[], purpose: EmbedPurpose, maxParts: number): Promise<Embedding[]> {
    const lane = getLane(texts, purpose);
    return new Promise((resolve, reject) => {
      this.#queues[lane].calls.push(createCall(texts, { purpose, lane, maxParts, resolve, reject }));
      // Deferred, so that calls made in the same tick are batched.
      queueMicrotask(() => this.#runNextStep(lane));
    });
  }

  #runNextStep(lane: Lane): void {
    const queue = this.#queues[lane];
    if (queue.calls.length === 0) return;
    if (queue.steps.size >= (lane === 'query' ? this.#queries.capacity : 1)) {
      if (lane === 'query') this.#queries.grow();
      return;
    }
    const isBesideLong = lane === 'short' && this.#queues.long.steps.size > 0;
    if (isBesideLong && this.#stepsBesideLong++ >= MAX_STEPS_BESIDE_LONG) return;
    const step = this.#runStep(takeStep(queue.calls, this.#textsTogether)).then(() => {
      queue.steps.delete(step);
      if (lane === 'long') {
        this.#stepsBesideLong = 0;
        this.#runNextStep('short');
      }
      this.#runNextStep(lane);
    });
    queue.steps.add(step);
  }

  async #runStep(texts: readonly Text[]): Promise<void> {
    try {
      if (this.#closed) throw closedError();
      const { lane } = (texts[0] as Text).call;
      const windows = texts.map(({ content, from }) => getWindow(content, from));
      const parts = await this.#embedParts(windows, lane);
      if (this.#closed) throw closedError();
      for (const [i, text] of texts.entries()) this.#finishPart(text, parts[i] as EmbeddedPart);
    } catch (error) {
      await this.#retry(texts, error);
    }
  }

  // Retries each call of a failed step separately, because the text of one call may have caused the failure. Rejects
  // the call if the step had only one call.
  async #retry(texts: readonly Text[], error: unknown): Promise<void> {
    const calls = [...new Set(texts.map(({ call }) => call))];
    const alone = calls.length === 1 || this.#closed;
    for (const call of calls) {
      if (alone) this.#fail(call, this.#closed ? closedError() : error);
      else await this.#runStep(texts.filter((text) => text.call === call));
    }
  }

  #finishPart(text: Text, part: EmbeddedPart): void {
    const { call, content } = text;
    text.from += part.length;
    text.partCount++;
    const isLast = text.partCount === call.maxParts || text.from >= content.length;
    const done = isLast || (call.purpose === 'query' && text.parts.length + 1 === MAX_QUERY_PARTS);
    // A part that consists of white space or unknown characters has no tokens and gets no vector.
    if (part.tokens > 0) text.parts.push(part);
    if (done) finishText(text);
    else this.#requeue(text);
  }

  #requeue(text: Text): void {
    const { call } = text;
    if (call.texts.length === 0) this.#queues[call.lane].calls.push(call);
    call.texts.push(text);
  }

  /** Rejects a call and drops its queued texts. */
  #fail(call: Call, error: unknown): void {
    const { calls } = this.#queues[call.lane];
    if (call.texts.splice(0).length > 0) calls.splice(calls.indexOf(call), 1);
    call.reject(error);
  }
}

function getLane(texts: readonly string[], purpose: EmbedPurpose): Lane {
  if (purpose === 'query') return 'query';
  return texts.some(({ length }) => length > EMBEDDING_LIMITS.shortText) ? 'long' : 'short';
}

function createQueue(): LaneQueue {
  return { calls: [], steps: new Set() };
}

function createCall(
  contents: readonly string[],
  options: Pick<Call, 'purpose' | 'lane' | 'maxParts' | 'resolve' | 'reject'>,
): Call {
  const call: Call = { ...options, texts: [], embeddings: [], pending: contents.length };
  call.texts = contents.map((content, index) => ({ call, index, content, parts: [], partCount: 0, from: 0 }));
  return call;
}

function finishText({ call, index, content, parts, from }: Text): void {
  const hasRest = call.purpose === 'memory' && from < content.length;
  call.embeddings[index] = { ...toEmbedding(parts, call.purpose), ...(hasRest && { next: from }) };
  call.pending--;
  if (call.pending === 0) call.resolve(call.embeddings);
}

/** Removes and returns the texts of the next step: at least one text, alternating between the queued calls. */
function takeStep(calls: Call[], maxTexts: number): Text[] {
  const step: Text[] = [];
  let chars = 0;
  for (let call = calls[0]; call && step.length < maxTexts; call = calls[0]) {
    const { content, from } = call.texts[0] as Text;
    chars += Math.min(content.length - from, WINDOW_LENGTH);
    if (step.length > 0 && chars > STEP_CHARS[call.purpose]) break;
    step.push(call.texts.shift() as Text);
    calls.shift();
    if (call.texts.length > 0) calls.push(call);
  }
  return step;
}

/** Returns the error for calls to a closed embedder. */
export function closedError(): MemoryError {
  return new MemoryError('UNAVAILABLE', 'the embedder is closed; retry when it is open again');
}

/**
 * Maximum concurrent calls to an embedder. With the bundled model, embedding a query takes about a millisecond, and a
 * memory of 1 MiB many seconds.
 */
export const CALL_LIMITS: Record<EmbedPurpose, number> = { query: 256, memory: 16 };

/** Limits the concurrent calls to an embedder, by purpose. */
export class CallLimit {
  readonly #calls: Record<EmbedPurpose, number> = { query: 0, memory: 0 };

  /** Runs a call. Throws UNAVAILABLE if the limit is reached. */
  async count<T>(purpose: EmbedPurpose, call: () => Promise<T>): Promise<T> {
    if (this.#calls[purpose] >= CALL_LIMITS[purpose]) {
      throw new MemoryError('UNAVAILABLE', 'too many texts are waiting to be embedded; retry later');
    }
    this.#calls[purpose]++;
    try {
      return await call();
    } finally {
      this.#calls[purpose]--;
    }
  }
}

/** Maximum number of query tokens whose states are compared with the token states of memories. */
const MAX_QUERY_STATES = 64;

function toEmbedding(parts: readonly EmbeddedPart[], purpose: EmbedPurpose): Embedding {
  const vectors = getVectors(parts, purpose);
  const states = parts.flatMap((part) => part.states ?? []);
  if (states.length < parts.length || parts.length === 0) return { vectors };
  return { vectors, states: purpose === 'memory' ? states : [takeFirstStates(states)] };
}

function takeFirstStates(states: readonly Int8Array[]): Int8Array {
  const first = new Int8Array(MAX_QUERY_STATES * STATE_SIZE);
  let length = 0;
  for (const partStates of states) {
    const fitting = partStates.subarray(0, first.length - length);
    first.set(fitting, length);
    length += fitting.length;
  }
  return first.slice(0, length);
}

/** Maximum parts of a query that are embedded: about 8,000 characters of English with the bundled model. */
export const MAX_QUERY_PARTS = 8;

type WeightedVector = Pick<EmbeddedPart, 'vector' | 'tokens'>;

/** Returns the vectors of a text: one per part for a memory, at most one for a query. */
export function getVectors(parts: readonly WeightedVector[], purpose: EmbedPurpose): Float32Array[] {
  if (purpose === 'memory') return parts.map(({ vector }) => vector);
  return parts.length > 0 ? [getWeightedMean(parts)] : [];
}

/**
 * Returns the mean of unit vectors weighted by their tokens, normalized. The result approximates mean pooling over all
 * tokens.
 */
function getWeightedMean(parts: readonly WeightedVector[]): Float32Array {
  const [first] = parts;
  if (first && parts.length === 1) return first.vector;
  const sum = new Float32Array(first?.vector.length ?? 0);
  for (const { vector, tokens } of parts) {
    for (const [i, value] of vector.entries()) sum[i] = (sum[i] as number) + tokens * value;
  }
  const length = Math.hypot(...sum);
  return sum.map((value) => value / length);
}

/** Maximum texts per call of `embed`. */
const MAX_BATCH = 64;

type ThreadModel = Pick<Embedder, 'modelId' | 'dimensions' | 'onlyEnglish' | 'hasUsualCosines'> & {
  /** Maximum texts of a step; 1 if batching is not faster. */
  textsTogether: number;
};

/** Returns an embedder for the model of threads. Closing the embedder stops the threads. */
export function createThreadEmbedder(threads: ModelThreads, model: ThreadModel): Embedder {
  const embedParts: EmbedParts = (windows, lane) => threads.embedParts(windows, lane);
  const scheduler = new EmbeddingScheduler(embedParts, model.textsTogether, threads);
  return {
    modelId: model.modelId,
    dimensions: model.dimensions,
    ...(model.onlyEnglish && { onlyEnglish: true }),
    ...(model.hasUsualCosines && { hasUsualCosines: true }),
    maxBatchSize: MAX_BATCH,
    async embed(texts, purpose, maxParts) {
      if (texts.length > MAX_BATCH) throw new RangeError(`at most ${MAX_BATCH} texts can be embedded at once`);
      return scheduler.embed(texts, purpose, maxParts);
    },
    async close() {
      await scheduler.close();
      await threads.stop();
    },
  };
}
