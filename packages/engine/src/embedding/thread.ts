import { createRequire } from 'node:module';
import { disableTelemetry } from '@memoryd/minilm/files';
import type { EmbeddedPart } from '@memoryd/minilm/parts';
import { Piscina } from 'piscina';
import { LANES, type Lane } from './lanes.ts';
import type { PartsCall, WorkerData } from './worker.ts';

// Resolved by package name, so that the thread runs the built file even if the caller runs from source.
const WORKER = createRequire(import.meta.url).resolve('@memoryd/engine/embedding/worker');

/** Maximum concurrent calls to the thread: one of each lane. */
const MAX_CONCURRENT_CALLS = LANES.length;

/**
 * Maximum wait for calls at process exit, in ms. With the bundled model, a call takes at most half a second, and
 * loading takes about as long.
 */
const MAX_EXIT_WAIT_MS = 2000;

/** Embeds the first part of each window. */
export type EmbedParts = (windows: readonly string[], lane: Lane) => Promise<EmbeddedPart[]>;

export interface Thread {
  /** Embeds the first part of each window; at most one concurrent call of each lane. */
  embedParts: EmbedParts;
  /** Stops the thread. Must not be called while a call is in progress. */
  stop(): Promise<void>;
}

/**
 * Starts a thread. The first call loads the model.
 *
 * Terminating a thread inside the native library aborts the whole process and loses its exit code. Therefore, `stop`
 * must not be called during a call, and process exit waits up to two seconds for the calls in progress.
 */
export function startThread(model: Omit<WorkerData, 'busy'>): Thread {
  disableTelemetry();
  const calls = new InFlightCalls();
  const pool = new Piscina<PartsCall, EmbeddedPart[]>({
    filename: WORKER,
    workerData: { ...model, busy: calls.cell } satisfies WorkerData,
    minThreads: 1,
    maxThreads: 1,
    concurrentTasksPerWorker: MAX_CONCURRENT_CALLS,
    recordTiming: false,
    // A call leaves little garbage. With the default limit, garbage would take a dozen more megabytes before it is
    // collected.
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  });
  // If a thread dies, its calls reject, and the next call starts a new thread. Without the listener, the error event
  // would be thrown as an uncaught error.
  pool.on('error', () => {});
  const awaitCalls = () => calls.waitUntilIdle(MAX_EXIT_WAIT_MS);
  process.on('exit', awaitCalls);
  return {
    embedParts: (windows, lane) => calls.count(() => pool.run({ windows, lane })),
    async stop() {
      process.off('exit', awaitCalls);
      await pool.destroy();
    },
  };
}

/**
 * Counts the calls of a thread in shared memory. The caller's thread increments the counter before it sends a call. The
 * worker thread decrements the counter when its native code has returned. The counter is in shared memory, because the
 * event loop of the caller's thread is blocked at process exit and receives no messages.
 */
export class InFlightCalls {
  /** The shared counter, which the thread decrements when a call has ended. */
  readonly cell = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #unanswered = 0;

  /** Counts a call while the thread runs it. */
  async count<T>(call: () => Promise<T>): Promise<T> {
    this.#unanswered++;
    Atomics.add(this.cell, 0, 1);
    try {
      return await call();
    } finally {
      // Resets the counter, because a thread that died did not decrement the counter.
      if (--this.#unanswered === 0) Atomics.store(this.cell, 0, 0);
    }
  }

  /** Blocks until no call is in progress, for at most `timeoutMs` milliseconds. */
  waitUntilIdle(timeoutMs: number): void {
    const until = performance.now() + timeoutMs;
    for (;;) {
      const inFlight = Atomics.load(this.cell, 0);
      const remainingMs = until - performance.now();
      if (inFlight <= 0 || remainingMs <= 0) return;
      Atomics.wait(this.cell, 0, inFlight, remainingMs);
    }
  }
}
