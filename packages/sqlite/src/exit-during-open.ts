import { workerData } from 'node:worker_threads';
import { MemoryError } from '@memoryd/contract/errors';

/*
 * Terminating a thread while the native library of SQLite loads aborts the whole process and loses its exit code. The
 * exit of the process terminates its threads. So the exit waits until no thread is opening a connection, and prevents
 * threads from opening another one. The state is in shared memory, because the event loop is blocked at process exit.
 */
const IDLE = 0;
const OPENING = 1;
const EXITING = 2;

/** Maximum wait at process exit for a thread that opens a connection, in ms. Loading the library takes about 10 ms. */
const MAX_EXIT_WAIT_MS = 2000;

/** Undefined outside of the threads of a storage, such as in a thread of an application, which has other data. */
const ofThisThread = getOpening(workerData);

function getOpening(data: { opening?: unknown } | null): Int32Array | undefined {
  return data?.opening instanceof Int32Array ? data.opening : undefined;
}

/** Opens a connection; process exit waits for it in a thread of a storage. Throws UNAVAILABLE after process exit began. */
export function openBeforeExit<T>(open: () => T): T {
  if (!ofThisThread) return open();
  if (Atomics.compareExchange(ofThisThread, 0, IDLE, OPENING) === EXITING) {
    throw new MemoryError('UNAVAILABLE', 'the process is exiting; retry when it runs again');
  }
  try {
    return open();
  } finally {
    Atomics.store(ofThisThread, 0, IDLE);
    Atomics.notify(ofThisThread, 0);
  }
}

const ofThreads = new Set<Int32Array>();

/** Creates the state of a thread, for its start data. Process exit waits for the thread until `forgetOpening`. */
export function watchOpening(): Int32Array {
  if (ofThreads.size === 0) process.on('exit', awaitOpenings);
  const opening = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  ofThreads.add(opening);
  return opening;
}

/** Ends the wait of process exit for a thread. The thread must have stopped. */
export function forgetOpening(opening: Int32Array): void {
  ofThreads.delete(opening);
  if (ofThreads.size === 0) process.off('exit', awaitOpenings);
}

function awaitOpenings(): void {
  const until = performance.now() + MAX_EXIT_WAIT_MS;
  for (const opening of ofThreads) {
    while (Atomics.compareExchange(opening, 0, IDLE, EXITING) === OPENING && performance.now() < until) {
      Atomics.wait(opening, 0, OPENING, until - performance.now());
    }
  }
}
