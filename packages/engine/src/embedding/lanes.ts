import { MemoryError } from '@memoryd/contract/errors';
import { type EmbeddedPart, STATE_SIZE, WINDOW_LENGTH, windowAt } from '@memoryd/minilm/parts';
import type { Embedder, Embedding, EmbedPurpose } from '../ports/embedder.ts';
import type { EmbedParts, Thread } from './thread.ts';

/**
 * Most characters that the texts of a step have together, unless it is one text. A step is answered as a whole: of
 * queries it takes as many as gain by it, which long ones do not; for memories nobody waits one by one.
 */
const STEP_CHARS: Record<EmbedPurpose, number> = { query: 512, memory: WINDOW_LENGTH };

/** A call under way: it waits in its lane as long as it has texts that no step has taken. */
interface Call {
  purpose: EmbedPurpose;
  texts: Text[];
  /** Of each text, once it is done. */
  embeddings: Embedding[];
  /** Texts that are not done. */
  left: number;
  resolve(embeddings: Embedding[]): void;
  reject(error: unknown): void;
}

/** A text of a call: `parts` holds what is done of it, up to `from`. */
interface Text {
  call: Call;
  place: number;
  content: string;
  parts: EmbeddedPart[];
  from: number;
}

/** The calls of one purpose that wait, and the step that is under way. */
interface Lane {
  waiting: Call[];
  step: Promise<void> | undefined;
}

/**
 * Two lanes before one model, which lets queries go first: a query waits for one stretch of memories' parts at most.
 * Each step embeds several texts, which a model may do in less time than one after the other. Calls take turns text by
 * text, and texts part by part, so neither a long text nor a call of many holds up the others.
 */
export class Lanes {
  readonly #embedParts: EmbedParts;
  readonly #textsTogether: number;
  readonly #limit = new CallLimit();
  readonly #lanes: Record<EmbedPurpose, Lane> = { query: emptyLane(), memory: emptyLane() };
  #closed = false;

  /** @param textsTogether most texts of a step */
  constructor(embedParts: EmbedParts, textsTogether: number) {
    this.#embedParts = embedParts;
    this.#textsTogether = textsTogether;
  }

  /** UNAVAILABLE when the lane is full or closed; any other error is the model's. */
  async embed(texts: readonly string[], purpose: EmbedPurpose): Promise<Embedding[]> {
    if (this.#closed) throw closedError();
    return this.#limit.count(purpose, async () => (texts.length === 0 ? [] : this.#wait(texts, purpose)));
  }

  /** Rejects every call that waits or is under way, and resolves when the model is at rest. */
  async close(): Promise<void> {
    this.#closed = true;
    const lanes = Object.values(this.#lanes);
    for (const { waiting } of lanes) for (const call of [...waiting]) this.#fail(call, closedError());
    await Promise.all(lanes.map(({ step }) => step));
  }

  #wait(texts: readonly string[], purpose: EmbedPurpose): Promise<Embedding[]> {
    const lane = this.#lanes[purpose];
    return new Promise((resolve, reject) => {
      lane.waiting.push(getCall(texts, purpose, resolve, reject));
      // So that calls which come together go together.
      queueMicrotask(() => this.#goOn(lane));
    });
  }

  #goOn(lane: Lane): void {
    if (lane.step || lane.waiting.length === 0) return;
    lane.step = this.#advance(takeStep(lane.waiting, this.#textsTogether)).then(() => {
      lane.step = undefined;
      this.#goOn(lane);
    });
  }

  async #advance(texts: readonly Text[]): Promise<void> {
    try {
      if (this.#closed) throw closedError();
      const { purpose } = (texts[0] as Text).call;
      const windows = texts.map(({ content, from }) => windowAt(content, from));
      const parts = await this.#embedParts(windows, purpose);
      if (this.#closed) throw closedError();
      for (const [i, text] of texts.entries()) this.#settle(text, parts[i] as EmbeddedPart);
    } catch (error) {
      await this.#retry(texts, error);
    }
  }

  // One call alone may be to blame, and is left to find out which of its texts is.
  async #retry(texts: readonly Text[], error: unknown): Promise<void> {
    const calls = [...new Set(texts.map(({ call }) => call))];
    const alone = calls.length === 1 || this.#closed;
    for (const call of calls) {
      if (alone) this.#fail(call, this.#closed ? closedError() : error);
      else await this.#advance(texts.filter((text) => text.call === call));
    }
  }

  #settle(text: Text, part: EmbeddedPart): void {
    const { call, content } = text;
    text.from += part.length;
    const done = text.from >= content.length || (call.purpose === 'query' && text.parts.length + 1 === QUERY_PARTS);
    // A part of white space, or of characters that the model does not know, says nothing.
    if (part.tokens > 0) text.parts.push(part);
    if (done) finish(text);
    else this.#putBack(text);
  }

  #putBack(text: Text): void {
    const { call } = text;
    if (call.texts.length === 0) this.#lanes[call.purpose].waiting.push(call);
    call.texts.push(text);
  }

  /** Rejects a call, of which nothing more is embedded then. */
  #fail(call: Call, error: unknown): void {
    const { waiting } = this.#lanes[call.purpose];
    if (call.texts.splice(0).length > 0) waiting.splice(waiting.indexOf(call), 1);
    call.reject(error);
  }
}

function emptyLane(): Lane {
  return { waiting: [], step: undefined };
}

function getCall(
  contents: readonly string[],
  purpose: EmbedPurpose,
  resolve: Call['resolve'],
  reject: Call['reject'],
): Call {
  const call: Call = { purpose, texts: [], embeddings: [], left: contents.length, resolve, reject };
  call.texts = contents.map((content, place) => ({ call, place, content, parts: [], from: 0 }));
  return call;
}

function finish({ call, place, parts }: Text): void {
  call.embeddings[place] = toEmbedding(parts, call.purpose);
  call.left--;
  if (call.left === 0) call.resolve(call.embeddings);
}

/** Takes the texts of the next step out of the calls that wait: one of each call in turn, the first in any case. */
function takeStep(waiting: Call[], most: number): Text[] {
  const step: Text[] = [];
  let chars = 0;
  for (let call = waiting[0]; call && step.length < most; call = waiting[0]) {
    const { content, from } = call.texts[0] as Text;
    chars += Math.min(content.length - from, WINDOW_LENGTH);
    if (step.length > 0 && chars > STEP_CHARS[call.purpose]) break;
    step.push(call.texts.shift() as Text);
    waiting.shift();
    if (call.texts.length > 0) waiting.push(call);
  }
  return step;
}

/** What a call to a closed embedder gets. */
export function closedError(): MemoryError {
  return new MemoryError('UNAVAILABLE', 'the embedder is closed');
}

/** Most calls to an embedder at a time: a query takes a millisecond, a memory of 1 MiB many seconds. */
export const CALL_LIMITS: Record<EmbedPurpose, number> = { query: 256, memory: 16 };

/** Counts the calls to an embedder that wait or are under way, and refuses those beyond the limit of their purpose. */
export class CallLimit {
  readonly #calls: Record<EmbedPurpose, number> = { query: 0, memory: 0 };

  /** What the call answers. UNAVAILABLE, and no call, where as many are under way as may. */
  async count<T>(purpose: EmbedPurpose, call: () => Promise<T>): Promise<T> {
    if (this.#calls[purpose] >= CALL_LIMITS[purpose]) {
      throw new MemoryError('UNAVAILABLE', 'too many texts wait to be embedded');
    }
    this.#calls[purpose]++;
    try {
      return await call();
    } finally {
      this.#calls[purpose]--;
    }
  }
}

/** Most tokens of a query whose states are compared: enough for a page, of which each further one tells less. */
const MAX_QUERY_STATES = 64;

function toEmbedding(parts: readonly EmbeddedPart[], purpose: EmbedPurpose): Embedding {
  const vectors = getVectors(parts, purpose);
  const states = parts.flatMap((part) => part.states ?? []);
  if (states.length < parts.length || parts.length === 0) return { vectors };
  return { vectors, states: purpose === 'memory' ? states : [firstStates(states)] };
}

function firstStates(states: readonly Int8Array[]): Int8Array {
  const first = new Int8Array(MAX_QUERY_STATES * STATE_SIZE);
  let length = 0;
  for (const some of states) {
    const fitting = some.subarray(0, first.length - length);
    first.set(fitting, length);
    length += fitting.length;
  }
  return first.slice(0, length);
}

/** Most parts that the vector of a query looks at: 2,000 tokens, about 8,000 characters of English. */
export const QUERY_PARTS = 8;

type WeightedVector = Pick<EmbeddedPart, 'vector' | 'tokens'>;

/** The vectors of a text by those of its parts: all of a memory's, one or none of a query's. */
export function getVectors(parts: readonly WeightedVector[], purpose: EmbedPurpose): Float32Array[] {
  if (purpose === 'memory') return parts.map(({ vector }) => vector);
  return parts.length > 0 ? [mean(parts)] : [];
}

/** The mean of unit vectors weighted by their tokens, at unit length: what pooling over all tokens comes to. */
function mean(parts: readonly WeightedVector[]): Float32Array {
  const [first] = parts;
  if (first && parts.length === 1) return first.vector;
  const sum = new Float32Array(first?.vector.length ?? 0);
  for (const { vector, tokens } of parts) {
    for (const [i, value] of vector.entries()) sum[i] = (sum[i] as number) + tokens * value;
  }
  const length = Math.hypot(...sum);
  return sum.map((value) => value / length);
}

/** Most texts of one call. */
const MAX_BATCH = 64;

/** A thread's model: its name, its dimensions, its language and how it takes texts. */
type ThreadModel = Pick<Embedder, 'modelId' | 'dimensions' | 'onlyEnglish'> & {
  /** Texts that it should be given at a time: one where more take as long as one after the other. */
  textsTogether: number;
};

/** An embedder over a thread that holds a loaded model; it ends the thread when it closes. */
export function threadEmbedder(thread: Thread, model: ThreadModel): Embedder {
  const lanes = new Lanes(thread.embedParts, model.textsTogether);
  return {
    modelId: model.modelId,
    dimensions: model.dimensions,
    ...(model.onlyEnglish && { onlyEnglish: true }),
    largestBatch: MAX_BATCH,
    async embed(texts, purpose) {
      if (texts.length > MAX_BATCH) throw new RangeError(`at most ${MAX_BATCH} texts can be embedded at once`);
      return lanes.embed(texts, purpose);
    },
    async close() {
      await lanes.close();
      await thread.stop();
    },
  };
}
