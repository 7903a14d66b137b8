import { BatchQueue, type Load } from '../batch-queue.ts';
import type { Connection } from './connection.ts';
import { type Attempt, unwrap } from './failure.ts';
import type { WriteVerbs } from './write/verbs.ts';
import type { WriteCall } from './write-thread.ts';

type Arguments<Verb extends keyof WriteVerbs> =
  Parameters<WriteVerbs[Verb]> extends [Connection, ...infer Rest] ? Rest : never;

/** Lets writes that arrive together share a commit. */
export class GroupCommit {
  readonly #queue: BatchQueue<WriteCall, Attempt<unknown>>;

  constructor(commit: (calls: WriteCall[]) => Promise<Attempt<unknown>[]>) {
    this.#queue = new BatchQueue(commit);
  }

  /** Resolves with what the verb answered when its commit is on disk. UNAVAILABLE when too much waits. */
  async run<Verb extends keyof WriteVerbs>(
    verb: Verb,
    args: Arguments<Verb>,
    load?: Load,
  ): Promise<ReturnType<WriteVerbs[Verb]>> {
    return unwrap((await this.#queue.run({ verb, args }, load)) as Attempt<ReturnType<WriteVerbs[Verb]>>);
  }

  /** Resolves when nothing waits any more. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }
}
