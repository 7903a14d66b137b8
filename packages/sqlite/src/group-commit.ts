import { BatchQueue } from '@memoryd/core';
import { type Attempt, unwrap } from './failure.ts';
import type { WriteCall } from './write-thread.ts';
import type { WriteVerbs } from './write-verbs.ts';

type Queue = BatchQueue<WriteCall, Attempt<unknown>>;

/** Groups concurrent writes into shared commits. */
export class GroupCommit {
  readonly #queue: Queue;

  constructor(commit: (calls: WriteCall[]) => Promise<Attempt<unknown>[]>) {
    this.#queue = new BatchQueue((calls) => commit(calls.map(evaluateArguments)));
  }

  /**
   * Runs a function of `WriteVerbs`, and resolves with its result once the commit is on disk. Throws UNAVAILABLE if the
   * queue is full. Arguments that are functions are called right before the commit, and replaced by their return
   * values.
   */
  async run<Result>(
    verb: keyof WriteVerbs,
    args: readonly unknown[],
    load?: Parameters<Queue['run']>[1],
  ): Promise<Result> {
    return unwrap((await this.#queue.run({ verb, args }, load)) as Attempt<Result>);
  }

  /** Resolves when all queued writes are committed or have failed. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }
}

function evaluateArguments({ verb, args }: WriteCall): WriteCall {
  return { verb, args: args.map((arg) => (typeof arg === 'function' ? arg() : arg)) };
}
