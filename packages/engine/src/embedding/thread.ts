import { createRequire } from 'node:module';
import { keepUnreported } from '@memoryd/minilm/files';
import type { EmbeddedPart } from '@memoryd/minilm/parts';
import { Piscina } from 'piscina';
import type { EmbedPurpose } from '../ports/embedder.ts';
import type { PartsCall, WorkerData } from './worker.ts';

// A thread starts from the built file whether or not the caller runs from source, so it is named by the package.
const WORKER = createRequire(import.meta.url).resolve('@memoryd/engine/embedding/worker');

/** Calls that are with the thread at most: one of each purpose. */
const AT_HAND = 2;

/** Longest that the process's exit waits for a call, which takes half a second at most; loading takes about as long. */
const EXIT_WAIT_MS = 2000;

/** Embeds the first part of each window, for queries before all else. */
export type EmbedParts = (windows: readonly string[], purpose: EmbedPurpose) => Promise<EmbeddedPart[]>;

/** The thread that holds a model. */
export interface Thread {
  /** Embeds the first part of each window; no more than one call of each purpose at a time. */
  embedParts: EmbedParts;
  /** Ends the thread. Only while there is no call. */
  stop(): Promise<void>;
}

/**
 * Starts a thread; the first call loads the model.
 *
 * A thread that is ended inside the native library takes the whole process with it (an abort instead of the exit
 * code), so both ways to end one wait for the calls under way.
 */
export function startThread(model: Omit<WorkerData, 'busy'>): Thread {
  keepUnreported();
  const calls = new CallsUnderWay();
  const pool = new Piscina<PartsCall, EmbeddedPart[]>({
    filename: WORKER,
    workerData: { ...model, busy: calls.cell } satisfies WorkerData,
    minThreads: 1,
    maxThreads: 1,
    concurrentTasksPerWorker: AT_HAND,
    recordTiming: false,
    // What a call leaves behind in JavaScript is small; the default lets it gather to another dozen megabytes.
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  });
  // A thread that dies rejects the calls that it had, and is replaced for the next: there is nothing to do but to listen.
  pool.on('error', () => {});
  const awaitCalls = () => calls.awaitNone(EXIT_WAIT_MS);
  process.on('exit', awaitCalls);
  return {
    embedParts: (windows, purpose) => calls.count(() => pool.run({ windows, purpose })),
    async stop() {
      process.off('exit', awaitCalls);
      await pool.destroy();
    },
  };
}

/**
 * Calls that are with a thread, counted where both sides can: here as they are sent, and by the thread, which may still be
 * in native code when nobody here can be told, as they end.
 */
export class CallsUnderWay {
  /** One shared cell: the thread takes one off for each call that has ended. */
  readonly cell = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #unanswered = 0;

  /** Counts a call as long as the thread has it. */
  async count<T>(call: () => Promise<T>): Promise<T> {
    this.#unanswered++;
    Atomics.add(this.cell, 0, 1);
    try {
      return await call();
    } finally {
      // A thread that died took none off.
      if (--this.#unanswered === 0) Atomics.store(this.cell, 0, 0);
    }
  }

  /** Blocks while the thread has calls, but no longer than so many milliseconds. */
  awaitNone(mostMs: number): void {
    const until = performance.now() + mostMs;
    for (;;) {
      const underWay = Atomics.load(this.cell, 0);
      const leftMs = until - performance.now();
      if (underWay <= 0 || leftMs <= 0) return;
      Atomics.wait(this.cell, 0, underWay, leftMs);
    }
  }
}
