import { createRequire } from 'node:module';
import { MemoryError } from '@memoryd/contract/errors';
import type { StatesCache } from '@memoryd/search';
import pLimit from 'p-limit';
import { Piscina } from 'piscina';
import { forgetOpening, watchOpening } from './exit-during-open.ts';
import { type Attempt, unwrap } from './failure.ts';

/** The start data of every thread of this adapter. */
export interface ThreadData {
  path: string;
  /** Whether the thread is opening a connection. Created by `startThread`. */
  opening: Int32Array;
}

/** The start data of the search thread. Without `states`, token states are not cached. */
export interface SearchThreadData extends ThreadData {
  states?: StatesCache;
}

/** A thread that owns one connection to the database. */
export interface Thread {
  /**
   * Calls an exported function of the thread module. Throws UNAVAILABLE if the queue is full, the thread is closed or
   * the file is unusable.
   */
  call<T>(name: string, argument?: unknown): Promise<T>;
  /** Rejects new calls, waits for earlier calls to end, closes the connection and stops the thread. */
  close(): Promise<void>;
  stop(): Promise<void>;
}

const YOUNG_GENERATION_MB = 6;

/** Concurrent calls to the thread: one is executed, and one is queued so that the thread never waits for work. */
const MAX_CONCURRENT = 2;

// A thread always runs the built file, even if the caller runs from source, so the module is resolved by package name.
const resolve = createRequire(import.meta.url).resolve;

/**
 * Starts a thread. A thread that starts `at first call` takes no memory before that, about 20 MB.
 *
 * @param name the module under `@memoryd/sqlite/`
 * @param data start data
 * @param maxQueue maximum queued calls
 */
export function startThread<Data extends ThreadData>(
  name: string,
  data: Omit<Data, 'opening'>,
  maxQueue: number,
  starts: 'at once' | 'at first call' = 'at once',
): Thread {
  const opening = watchOpening();
  const pool = new Piscina({
    filename: resolve(`@memoryd/sqlite/${name}`),
    workerData: { ...data, opening },
    minThreads: starts === 'at once' ? 1 : 0,
    maxThreads: 1,
    // A thread that has started stays.
    idleTimeout: Number.POSITIVE_INFINITY,
    concurrentTasksPerWorker: MAX_CONCURRENT,
    // An idle thread would otherwise block in `Atomics.wait`, where V8 sometimes misses the termination of the thread:
    // the thread would never end, and `stop` would never resolve.
    atomics: 'disabled',
    recordTiming: false,
    // Calls produce little garbage. With the default limit, the garbage would grow to tens of megabytes per thread.
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  });
  // If a thread dies, the pool rejects its calls and replaces the thread, so this event needs no handling.
  pool.on('error', () => {});
  // FIFO. Piscina's own queue moves a task to the tail if no worker is free for the task.
  const inTurn = pLimit(MAX_CONCURRENT);
  const run = async <T>(verb: string, argument?: unknown) =>
    unwrap((await inTurn(() => pool.run(argument, { name: verb }))) as Attempt<T>);
  let started = starts === 'at once';
  let stopped = false;
  async function stop(): Promise<void> {
    stopped = true;
    await pool.destroy();
    forgetOpening(opening);
  }
  return {
    async call<T>(verb: string, argument?: unknown): Promise<T> {
      if (stopped) throw new MemoryError('UNAVAILABLE', 'the database is closed; retry when it is open again');
      if (inTurn.pendingCount >= maxQueue) {
        throw new MemoryError('UNAVAILABLE', 'too many requests are waiting for the database; retry later');
      }
      started = true;
      return run(verb, argument);
    },
    close() {
      stopped = true;
      if (!started) return stop();
      return run<void>('close').finally(stop);
    },
    stop,
  };
}
