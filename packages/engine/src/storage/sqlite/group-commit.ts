import { BatchQueue, type Load } from '../batch-queue.ts';
import { type Attempt, unwrap } from './file-failure.ts';
import type { WriteCall } from './write-thread.ts';
import type { WriteVerbs } from './write-verbs.ts';

/** Lets writes that arrive together share a commit. */
export class GroupCommit {
  readonly #queue: BatchQueue<WriteCall, Attempt<unknown>>;

  constructor(commit: (calls: WriteCall[]) => Promise<Attempt<unknown>[]>) {
    this.#queue = new BatchQueue((calls) => commit(calls.map(inTurn)));
  }

  /**
   * Resolves with what the verb answered when its commit is on disk. UNAVAILABLE when too much waits. An argument that is a
   * function is called for its value when it is the call's turn.
   */
  async run<Result>(verb: keyof WriteVerbs, args: readonly unknown[], load?: Load): Promise<Result> {
    return unwrap((await this.#queue.run({ verb, args }, load)) as Attempt<Result>);
  }

  /** Resolves when nothing waits any more. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }
}

function inTurn({ verb, args }: WriteCall): WriteCall {
  return { verb, args: args.map((arg) => (typeof arg === 'function' ? arg() : arg)) };
}
