import { MemoryError } from '@memoryd/contract/errors';

/** Most calls that wait to be committed, and most characters of memory text that wait with them. */
const WAITING_CALLS_LIMIT = 10_000;
const WAITING_CHARS_LIMIT = 64 * 1024 * 1024;

/** About how many memories, and characters of them, one transaction writes. */
const BATCH_MEMORIES = 512;
const BATCH_CHARS = 4 * 1024 * 1024;

/** How much a call writes: memories, or what costs as much as one, and characters of memory text. */
export interface Load {
  memories?: number;
  chars?: number;
}

interface Waiting<Call, Answer> extends Required<Load> {
  call: Call;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/**
 * Gathers the writes that arrive while a commit is under way, so that the next commit, and the one sync of the disk
 * that it costs, serves them all. `commit` answers for each call of a batch, in their order.
 */
export class BatchQueue<Call, Answer> {
  readonly #commit: (calls: Call[]) => Promise<Answer[]>;
  readonly #queue: Waiting<Call, Answer>[] = [];
  #chars = 0;
  #committing: Promise<void> | undefined;

  constructor(commit: (calls: Call[]) => Promise<Answer[]>) {
    this.#commit = commit;
  }

  /** Resolves with what the commit of the call's batch answers for it. UNAVAILABLE when too much waits. */
  run(call: Call, { memories = 1, chars = 0 }: Load = {}): Promise<Answer> {
    if (this.#queue.length >= WAITING_CALLS_LIMIT || this.#chars + chars > WAITING_CHARS_LIMIT) {
      return Promise.reject(new MemoryError('UNAVAILABLE', 'too many writes wait for the disk'));
    }
    const done = new Promise<Answer>((resolve, reject) => {
      this.#queue.push({ call, memories, chars, resolve, reject });
      this.#chars += chars;
    });
    this.#committing ??= this.#drain();
    return done;
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    await this.#committing;
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#takeBatch();
      try {
        const answers = await this.#answersFor(batch);
        batch.forEach((waiting, i) => {
          waiting.resolve(answers[i] as Answer);
        });
      } catch (error) {
        for (const waiting of batch) waiting.reject(error);
      }
    }
    this.#committing = undefined;
  }

  // Apart, so that what a commit throws at once is a rejection too, for which the queue waits.
  async #answersFor(batch: readonly Waiting<Call, Answer>[]): Promise<Answer[]> {
    return this.#commit(batch.map((waiting) => waiting.call));
  }

  #takeBatch(): Waiting<Call, Answer>[] {
    let count = 0;
    let memories = 0;
    let chars = 0;
    for (const waiting of this.#queue) {
      memories += waiting.memories;
      if (count > 0 && (memories > BATCH_MEMORIES || chars + waiting.chars > BATCH_CHARS)) break;
      chars += waiting.chars;
      count++;
    }
    this.#chars -= chars;
    return this.#queue.splice(0, count);
  }
}
