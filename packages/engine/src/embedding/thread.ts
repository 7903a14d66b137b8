import { createRequire } from 'node:module';
import { Piscina } from 'piscina';
import type { EmbeddedPart, EmbedPart } from './embed-part.ts';
import type { WorkerData } from './worker.ts';

// A thread starts from the built file whether or not the caller runs from source, so it is named by the package.
const WORKER = createRequire(import.meta.url).resolve('@memoryd/engine/embedding/worker');

/** Longest that the process's exit waits for a run, which takes milliseconds; only loading takes a good part of it. */
const EXIT_WAIT_MS = 2000;

/** The thread that holds a model. */
export interface Thread {
  /** Embeds the first part of a window; one call at a time. */
  embedPart: EmbedPart;
  /** Ends the thread. Only between two calls. */
  stop(): Promise<void>;
}

/**
 * Starts a thread; the first call loads the model of this kind from its source.
 *
 * A thread that is ended inside the native library takes the whole process with it (an abort instead of the exit
 * code), so both ways to end one wait for the call under way.
 */
export function startThread({ kind, source }: Omit<WorkerData, 'busy'>): Thread {
  const busy = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const pool = new Piscina<string, EmbeddedPart>({
    filename: WORKER,
    workerData: { kind, source, busy } satisfies WorkerData,
    minThreads: 1,
    maxThreads: 1,
    recordTiming: false,
    // What a call leaves behind in JavaScript is small; the default lets it gather to another dozen megabytes.
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  });
  // A thread that dies between two calls is replaced for the next; one that dies in a call rejects it.
  pool.on('error', () => {});
  const awaitCall = () => Atomics.wait(busy, 0, 1, EXIT_WAIT_MS);
  process.on('exit', awaitCall);
  return {
    async embedPart(window) {
      Atomics.store(busy, 0, 1);
      try {
        return await pool.run(window);
      } finally {
        Atomics.store(busy, 0, 0);
      }
    },
    async stop() {
      process.off('exit', awaitCall);
      await pool.destroy();
    },
  };
}
