/** What timers hold: beyond it they fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * What a promise comes to, or a rejection when that takes longer, or with the reason of a signal that comes first. It goes
 * on, and nobody looks at it any more.
 */
export async function within<T>(timeoutMs: number, promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    if (timeoutMs > MAX_TIMER_MS) return;
    timer = setTimeout(() => reject(new Error(`memory gave no answer within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await unlessAborted(Promise.race([promise, late]), signal);
  } finally {
    clearTimeout(timer);
  }
}

/** What a promise comes to, or a rejection with the reason of a signal that comes first, as `within`. */
export async function unlessAborted<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return promise;
  let stop = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop);
    // A signal that has come tells nobody who listens afterwards.
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
