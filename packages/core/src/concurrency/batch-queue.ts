import { MemoryError } from '@memoryd/contract/errors';

const MAX_QUEUED_CALLS = 10_000;

/** Maximum total characters of the memory texts in the queued calls. */
const MAX_QUEUED_CHARS = 64 * 1024 * 1024;

/** Maximum memories per transaction. A single call may exceed the limit. */
const BATCH_MEMORIES = 512;

/** Maximum total characters of the memory texts per transaction. A single call may exceed the limit. */
const BATCH_CHARS = 4 * 1024 * 1024;

/**
 * The size of a write: the number of memories, or of operations of the same cost, and the total characters of the
 * texts.
 */
export interface Load {
  memories?: number;
  chars?: number;
}

interface QueuedCall<Call, Result> extends Required<Load> {
  call: Call;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Queue for group commit: writes that are queued during a commit form the next batch, so that they share one commit and
 * one disk sync. `commit` returns one result per call of a batch, in the same order.
 */
export class BatchQueue<Call, Result> {
  readonly #commit: (calls: Call[]) => Promise<Result[]>;
  readonly #queue: QueuedCall<Call, Result>[] = [];
  #chars = 0;
  #committing: Promise<void> | undefined;

  constructor(commit: (calls: Call[]) => Promise<Result[]>) {
    this.#commit = commit;
  }

  /**
   * Queues a call. Resolves with the result of the call once its batch is committed. Rejects with UNAVAILABLE if the
   * queue is full.
   */
  run(call: Call, { memories = 1, chars = 0 }: Load = {}): Promise<Result> {
    if (this.#queue.length >= MAX_QUEUED_CALLS || this.#chars + chars > MAX_QUEUED_CHARS) {
      return Promise.reject(new MemoryError('UNAVAILABLE', 'too many writes are waiting for the disk; retry later'));
    }
    const done = new Promise<Result>((resolve, reject) => {
      this.#queue.push({ call, memories, chars, resolve, reject });
      this.#chars += chars;
    });
    this.#committing ??= this.#drain();
    return done;
  }

  /** Resolves when all queued calls are committed or rejected. */
  async idle(): Promise<void> {
    await this.#committing;
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#takeBatch();
      try {
        const results = await this.#commitBatch(batch);
        batch.forEach((queued, i) => {
          queued.resolve(results[i] as Result);
        });
      } catch (error) {
        for (const queued of batch) queued.reject(error);
      }
    }
    this.#committing = undefined;
  }

  // Async, so that an exception thrown synchronously by `commit` becomes a rejection.
  async #commitBatch(batch: readonly QueuedCall<Call, Result>[]): Promise<Result[]> {
    return this.#commit(batch.map((queued) => queued.call));
  }

  #takeBatch(): QueuedCall<Call, Result>[] {
    let count = 0;
    let memories = 0;
    let chars = 0;
    for (const queued of this.#queue) {
      memories += queued.memories;
      if (count > 0 && (memories > BATCH_MEMORIES || chars + queued.chars > BATCH_CHARS)) break;
      chars += queued.chars;
      count++;
    }
    this.#chars -= chars;
    return this.#queue.splice(0, count);
  }
}
