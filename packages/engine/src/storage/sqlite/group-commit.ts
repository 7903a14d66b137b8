import { BatchQueue, type Load } from '../batch-queue.ts';
import { type Attempt, unwrap } from './failure.ts';
import type { WriteVerbs } from './write/verbs.ts';
import type { WriteCall } from './write-thread.ts';

/** What a verb is called with. What is a function is called for its argument when it is the call's turn. */
type Arguments<Verb extends keyof WriteVerbs> =
  Parameters<WriteVerbs[Verb]> extends [infer _Transaction, ...infer Rest]
    ? { [At in keyof Rest]: Rest[At] | (() => Rest[At]) }
    : never;

/** Lets writes that arrive together share a commit. */
export class GroupCommit {
  readonly #queue: BatchQueue<WriteCall, Attempt<unknown>>;

  constructor(commit: (calls: WriteCall[]) => Promise<Attempt<unknown>[]>) {
    this.#queue = new BatchQueue((calls) => commit(calls.map(inTurn)));
  }

  /** Resolves with what the verb answered when its commit is on disk. UNAVAILABLE when too much waits. */
  async run<Verb extends keyof WriteVerbs>(
    verb: Verb,
    args: Arguments<Verb>,
    load?: Load,
  ): Promise<Awaited<ReturnType<WriteVerbs[Verb]>>> {
    return unwrap((await this.#queue.run({ verb, args }, load)) as Attempt<Awaited<ReturnType<WriteVerbs[Verb]>>>);
  }

  /** Resolves when nothing waits any more. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }
}

function inTurn({ verb, args }: WriteCall): WriteCall {
  return { verb, args: args.map((arg) => (typeof arg === 'function' ? arg() : arg)) };
}
