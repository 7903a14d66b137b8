import { createRequire } from 'node:module';
import { MemoryError } from '@memoryd/contract/errors';
import pLimit from 'p-limit';
import { Piscina } from 'piscina';
import { type Attempt, unwrap } from './file-failure.ts';

/** What every thread of this adapter is started with. */
export interface ThreadData {
  path: string;
}

/** A thread that owns one connection to the database. */
export interface Thread {
  /** Calls a function that the thread's module exports. UNAVAILABLE when its queue is full or the file cannot serve. */
  call<T>(name: string, argument?: unknown): Promise<T>;
  /** Closes its connection after all that was called before, however much that is, and stops it; more is refused. */
  close(): Promise<void>;
  stop(): Promise<void>;
}

const YOUNG_GENERATION_MB = 6;

/** Calls that are with the thread at a time: one that runs and one that is at hand when it ends. */
const AT_HAND = 2;

// A thread starts from the built file whether or not the caller runs from source, so it is named by the package.
const resolve = createRequire(import.meta.url).resolve;

/**
 * Starts a thread.
 *
 * @param name the module under `@memoryd/engine/storage/sqlite/`
 * @param data what it is given at its start
 * @param maxQueue most calls that wait for the thread
 */
export function startThread<Data extends ThreadData>(name: string, data: Data, maxQueue: number): Thread {
  const pool = new Piscina({
    filename: resolve(`@memoryd/engine/storage/sqlite/${name}`),
    workerData: data,
    minThreads: 1,
    maxThreads: 1,
    concurrentTasksPerWorker: AT_HAND,
    recordTiming: false,
    // What a call leaves behind in JavaScript is small; the default lets it gather to tens of megabytes a thread.
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  });
  // A thread that dies rejects the calls that it had and is replaced; this event says the same once more.
  pool.on('error', () => {});
  // In order of arrival: the pool's own queue puts a call that it could not place behind all others.
  const inTurn = pLimit(AT_HAND);
  const run = async <T>(verb: string, argument?: unknown) =>
    unwrap((await inTurn(() => pool.run(argument, { name: verb }))) as Attempt<T>);
  let stopped = false;
  async function stop(): Promise<void> {
    stopped = true;
    await pool.destroy();
  }
  return {
    async call<T>(verb: string, argument?: unknown): Promise<T> {
      if (stopped) throw new MemoryError('UNAVAILABLE', 'the database is closed');
      if (inTurn.pendingCount >= maxQueue) {
        throw new MemoryError('UNAVAILABLE', 'too many requests wait for the database');
      }
      return run(verb, argument);
    },
    close() {
      stopped = true;
      return run<void>('close').finally(stop);
    },
    stop,
  };
}
