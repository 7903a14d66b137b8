import { MemoryError } from '@memoryd/contract/errors';
import type { Connection } from './connection.ts';
import { type Attempt, unwrap } from './failure.ts';
import type { WriteVerbs } from './write/verbs.ts';
import type { WriteCall } from './write-thread.ts';

/** Most calls that wait to be committed, and most characters of memory text that wait with them. */
const WAITING_CALLS_LIMIT = 10_000;
const WAITING_CHARS_LIMIT = 64 * 1024 * 1024;

/** About how many memories, and characters of them, one transaction writes. */
const BATCH_MEMORIES = 512;
const BATCH_CHARS = 4 * 1024 * 1024;

type Arguments<Verb extends keyof WriteVerbs> =
  Parameters<WriteVerbs[Verb]> extends [Connection, ...infer Rest] ? Rest : never;

/** How much a call writes: memories, or what costs as much as one, and characters of memory text. */
interface Load {
  memories?: number;
  chars?: number;
}

interface Waiting extends Required<Load> {
  call: WriteCall;
  resolve(attempted: Attempt<unknown>): void;
  reject(error: unknown): void;
}

/**
 * Gathers the writes that arrive while a commit is under way, so that the next commit, and the one sync of the disk
 * that it costs, serves them all.
 */
export class GroupCommit {
  readonly #commit: (calls: WriteCall[]) => Promise<Attempt<unknown>[]>;
  readonly #queue: Waiting[] = [];
  #chars = 0;
  #committing: Promise<void> | undefined;

  constructor(commit: (calls: WriteCall[]) => Promise<Attempt<unknown>[]>) {
    this.#commit = commit;
  }

  /** Resolves with what the verb answered when its commit is on disk. UNAVAILABLE when too much waits. */
  run<Verb extends keyof WriteVerbs>(
    verb: Verb,
    args: Arguments<Verb>,
    { memories = 1, chars = 0 }: Load = {},
  ): Promise<ReturnType<WriteVerbs[Verb]>> {
    if (this.#queue.length >= WAITING_CALLS_LIMIT || this.#chars + chars > WAITING_CHARS_LIMIT) {
      return Promise.reject(new MemoryError('UNAVAILABLE', 'too many writes wait for the disk'));
    }
    const done = new Promise<Attempt<unknown>>((resolve, reject) => {
      this.#queue.push({ call: { verb, args }, memories, chars, resolve, reject });
      this.#chars += chars;
    });
    this.#committing ??= this.#drain();
    return done.then((attempted) => unwrap(attempted as Attempt<ReturnType<WriteVerbs[Verb]>>));
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    await this.#committing;
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#takeBatch();
      try {
        const attempts = await this.#commit(batch.map((waiting) => waiting.call));
        batch.forEach((waiting, i) => {
          waiting.resolve(attempts[i] as Attempt<unknown>);
        });
      } catch (error) {
        for (const waiting of batch) waiting.reject(error);
      }
    }
    this.#committing = undefined;
  }

  #takeBatch(): Waiting[] {
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
