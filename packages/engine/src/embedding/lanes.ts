import { MemoryError } from '@memoryd/contract/errors';
import type { EmbedPurpose } from '../ports/embedder.ts';
import type { EmbeddedPart, EmbedParts } from './embed-parts.ts';
import { WINDOW_LENGTH, windowAt } from './parts.ts';
import { QUERY_PARTS, vectorsOf } from './pool.ts';

/** Most calls to an embedder that wait at a time: a query takes a millisecond, a memory of 1 MiB many seconds. */
export const LANE_LIMITS: Record<EmbedPurpose, number> = { query: 256, memory: 16 };

/** Most texts whose parts are embedded in one step, with as many characters as one window may have. */
const STEP_TEXTS = 16;

/** A text under way: `parts` holds what is done of it, up to `from`. */
interface Text {
  content: string;
  parts: EmbeddedPart[];
  from: number;
  resolve(vectors: Float32Array[]): void;
  reject(error: unknown): void;
}

/** The texts of one purpose that wait, the calls that brought them, and the step that is under way for them. */
interface Lane {
  purpose: EmbedPurpose;
  calls: number;
  waiting: Text[];
  underWay: Promise<void> | undefined;
}

/**
 * Two lanes before one model, which lets queries go first: a query waits for one stretch of memories' parts at most.
 * What waits in a lane is embedded several texts at a time, which takes less than one after the other; texts take turns
 * part by part, so a long one holds up nobody.
 */
export class Lanes {
  readonly #embedParts: EmbedParts;
  readonly #lanes: Record<EmbedPurpose, Lane> = { query: emptyLane('query'), memory: emptyLane('memory') };
  #closed = false;

  constructor(embedParts: EmbedParts) {
    this.#embedParts = embedParts;
  }

  /** UNAVAILABLE when the lane is full or closed; any other error is the model's. */
  async embed(texts: readonly string[], purpose: EmbedPurpose): Promise<Float32Array[][]> {
    const lane = this.#lanes[purpose];
    if (this.#closed) throw closedError();
    if (lane.calls >= LANE_LIMITS[purpose]) throw busyError();
    lane.calls++;
    try {
      return await Promise.all(texts.map((content) => this.#embedText(lane, content)));
    } finally {
      lane.calls--;
    }
  }

  /** Rejects every call that waits or is under way, and resolves when the model is at rest. */
  async close(): Promise<void> {
    this.#closed = true;
    const lanes = Object.values(this.#lanes);
    for (const { waiting } of lanes) for (const text of waiting.splice(0)) text.reject(closedError());
    await Promise.all(lanes.map(({ underWay }) => underWay));
  }

  #embedText(lane: Lane, content: string): Promise<Float32Array[]> {
    return new Promise((resolve, reject) => {
      lane.waiting.push({ content, parts: [], from: 0, resolve, reject });
      // So that the texts of one call, and calls that come together, go together.
      queueMicrotask(() => this.#goOn(lane));
    });
  }

  #goOn(lane: Lane): void {
    if (lane.underWay || lane.waiting.length === 0) return;
    lane.underWay = this.#advance(lane, takeStep(lane.waiting)).then(() => {
      lane.underWay = undefined;
      this.#goOn(lane);
    });
  }

  async #advance(lane: Lane, texts: Text[]): Promise<void> {
    try {
      const windows = texts.map(({ content, from }) => windowAt(content, from));
      const parts = await this.#embedParts(windows, lane.purpose);
      for (const [i, text] of texts.entries()) this.#settle(lane, text, parts[i] as EmbeddedPart);
    } catch (error) {
      // One text alone may be to blame.
      if (texts.length > 1 && !this.#closed) for (const text of texts) await this.#advance(lane, [text]);
      else for (const text of texts) text.reject(error);
    }
  }

  #settle({ purpose, waiting }: Lane, text: Text, part: EmbeddedPart): void {
    text.from += part.length;
    const done = text.from >= text.content.length || (purpose === 'query' && text.parts.length + 1 === QUERY_PARTS);
    // A part of white space, or of characters that the model does not know, says nothing.
    if (part.tokens > 0) text.parts.push(part);
    if (this.#closed) text.reject(closedError());
    else if (done) text.resolve(vectorsOf(text.parts, purpose));
    else waiting.push(text);
  }
}

function emptyLane(purpose: EmbedPurpose): Lane {
  return { purpose, calls: 0, waiting: [], underWay: undefined };
}

/** Takes the texts of the next step out of those that wait, the first of them in any case. */
function takeStep(waiting: Text[]): Text[] {
  let chars = 0;
  const end = waiting.findIndex(({ content, from }, i) => {
    chars += Math.min(content.length - from, WINDOW_LENGTH);
    return i > 0 && (i === STEP_TEXTS || chars > WINDOW_LENGTH);
  });
  return waiting.splice(0, end < 0 ? waiting.length : end);
}

/** What a call to a closed embedder gets. */
export function closedError(): MemoryError {
  return new MemoryError('UNAVAILABLE', 'the embedder is closed');
}

/** What a call gets while as many wait as may. */
export function busyError(): MemoryError {
  return new MemoryError('UNAVAILABLE', 'too many texts wait to be embedded');
}
