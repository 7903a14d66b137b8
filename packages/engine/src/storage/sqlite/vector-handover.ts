import type { QueryVector } from '../../ports/storage-search.ts';
import { MOST_DIMENSIONS } from '../../recall-index/recall-index.ts';

/** Longest that a vector is waited for: several times what a query takes the bundled model. */
export const TAKEN_WITHIN_MS = 10;

/** Longest name of a model that is handed over, in bytes. */
const MODEL_BYTES = 1024;

/** Places in the head, as 32-bit numbers. */
const STATE = 0;
const DIMENSIONS = 1;
const MODEL_LENGTH = 2;
const HEAD_BYTES = 16;

const COMING = 0;
const THERE = 1;
/** That there is none: recall goes by words alone. */
const NONE = 2;
const FAILED = 3;

/**
 * Hands one vector at a time over to a thread that waits for it: through memory that both share, so that the thread, which
 * has begun with what needs no vector, goes on as soon as it is there, and no further message has to be sent for it.
 */
export class VectorHandover {
  readonly memory: SharedArrayBuffer;
  readonly #head: Int32Array;
  readonly #modelId: Buffer;
  readonly #values: Float32Array;

  /** @param memory that of the other side */
  constructor(memory = new SharedArrayBuffer(HEAD_BYTES + MODEL_BYTES + MOST_DIMENSIONS * 4)) {
    this.memory = memory;
    this.#head = new Int32Array(memory, 0, HEAD_BYTES / 4);
    this.#modelId = Buffer.from(memory, HEAD_BYTES, MODEL_BYTES);
    this.#values = new Float32Array(memory, HEAD_BYTES + MODEL_BYTES, MOST_DIMENSIONS);
  }

  /**
   * Hands over what is being made, when it is there. Before it is ended no other may begin.
   *
   * @returns what ends it: what comes after that is handed over to nobody
   */
  begin(making: Promise<QueryVector | undefined>): () => void {
    let ended = false;
    Atomics.store(this.#head, STATE, COMING);
    const hand = (put: () => number) => {
      if (ended) return;
      Atomics.store(this.#head, STATE, put());
      Atomics.notify(this.#head, STATE);
    };
    making.then(
      (vector) => hand(() => this.#put(vector)),
      () => hand(() => FAILED),
    );
    return () => {
      ended = true;
    };
  }

  #put(vector: QueryVector | undefined): number {
    if (!vector) return NONE;
    const modelId = Buffer.from(vector.modelId);
    if (modelId.length > MODEL_BYTES || vector.values.length > MOST_DIMENSIONS) return FAILED;
    this.#modelId.set(modelId);
    this.#values.set(vector.values);
    this.#head[MODEL_LENGTH] = modelId.length;
    this.#head[DIMENSIONS] = vector.values.length;
    return THERE;
  }

  /** Blocks until it is there; undefined where it cannot be handed over, or not in time. */
  take(): { vector: QueryVector | undefined } | undefined {
    Atomics.wait(this.#head, STATE, COMING, TAKEN_WITHIN_MS);
    const state = Atomics.load(this.#head, STATE);
    if (state === NONE) return { vector: undefined };
    if (state !== THERE) return undefined;
    const modelId = this.#modelId.toString('utf8', 0, this.#head[MODEL_LENGTH]);
    return { vector: { modelId, values: this.#values.slice(0, this.#head[DIMENSIONS]) } };
  }
}
