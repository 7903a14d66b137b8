/** Maximum delay of a timer. Longer timers would fire immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Settles like `promise`, but rejects if the timeout expires first. If `signal` is aborted first, rejects with the
 * reason of the signal. In both cases, the operation behind the promise continues, and its result is ignored.
 */
export async function withTimeout<T>(timeoutMs: number, promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    if (timeoutMs > MAX_TIMER_MS) return;
    const message = `the memory service did not respond within ${timeoutMs} ms; check the service, or raise timeoutMs`;
    timer = setTimeout(() => reject(new Error(message)), timeoutMs);
  });
  try {
    return await withSignal(Promise.race([promise, timeout]), signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Settles like `promise`. If `signal` is aborted first, rejects with the reason of the signal. */
export async function withSignal<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return promise;
  let stop = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop);
    // An aborted signal does not notify listeners that are added later.
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
