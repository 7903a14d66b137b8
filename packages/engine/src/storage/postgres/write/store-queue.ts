import type { NewMemory, StoreOutcome } from '../../../ports/storage.ts';
import { BatchQueue } from '../../batch-queue.ts';
import type { Connection } from '../connection.ts';
import { CommitUnknown } from '../failure.ts';
import type { Hold } from '../locks.ts';
import { storedAlready, storeMany } from './store.ts';

/** How often a commit is looked for that nobody heard of. */
const TRIES = 3;

type Attempt = { outcomes: StoreOutcome[] } | { error: unknown };

/** Lets stores of this process that arrive together share a transaction. */
export class StoreQueue {
  readonly #connection: Connection;
  readonly #workingMax: number;
  readonly #queue = new BatchQueue<readonly NewMemory[], Attempt>((calls) => this.#commit(calls));

  constructor(connection: Connection, workingMax: number) {
    this.#connection = connection;
    this.#workingMax = workingMax;
  }

  /** See `Storage.storeMany`. */
  async storeMany(memories: readonly NewMemory[]): Promise<StoreOutcome[]> {
    if (memories.length === 0) return [];
    const chars = memories.reduce((sum, memory) => sum + memory.content.length, 0);
    const attempt = await this.#queue.run(memories, { memories: memories.length, chars });
    if ('error' in attempt) throw attempt.error;
    return attempt.outcomes;
  }

  /** Resolves when nothing waits any more. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }

  async #commit(calls: (readonly NewMemory[])[]): Promise<Attempt[]> {
    try {
      const outcomes = await this.#keep(calls.flat());
      let from = 0;
      return calls.map((call) => ({ outcomes: outcomes.slice(from, (from += call.length)) }));
    } catch (error) {
      if (calls.length === 1) return [{ error }];
      // One that cannot be written leaves the others as they are.
      const attempts: Attempt[] = [];
      for (const call of calls) attempts.push(...(await this.#commit([call])));
      return attempts;
    }
  }

  async #keep(memories: readonly NewMemory[]): Promise<StoreOutcome[]> {
    const shared = memories.map((memory) => memory.namespace);
    const superseding = memories.filter((memory) => memory.supersedes !== null);
    let hold: Hold = { exclusiveOf: superseding.map((memory) => memory.namespace), shared };
    let isRepeated = false;
    for (let tries = 1; ; tries++) {
      try {
        return await this.#connection.write(hold, async (transaction) => {
          const already = isRepeated ? await storedAlready(transaction, memories) : [];
          const missing = memories.filter((_, i) => already[i] === undefined);
          const outcomes = await storeMany(transaction, missing, this.#workingMax);
          let next = 0;
          return memories.map((_, i) => already[i] ?? (outcomes[next++] as StoreOutcome));
        });
      } catch (error) {
        if (tries === TRIES || !(error instanceof CommitUnknown)) throw error;
        // Alone, so that the commit whose answer was lost has ended by then, one way or the other; then ids tell.
        hold = { exclusiveOf: shared, shared };
        isRepeated = true;
      }
    }
  }
}
