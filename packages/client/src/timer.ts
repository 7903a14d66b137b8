/** Maximum delay of a timer. Longer timers would fire immediately. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** The used part of Deno's namespace. Its timers are numbers, so they have no `unref`. */
interface DenoTimers {
  unrefTimer?(timer: unknown): void;
}

/** Starts a timer that does not keep the process running. Returns a function that stops the timer. */
export function startBackgroundTimer(ms: number, callback: () => void): () => void {
  const timer: unknown = setTimeout(callback, ms);
  if (typeof timer === 'object') (timer as { unref?(): void } | null)?.unref?.();
  else (globalThis as { Deno?: DenoTimers }).Deno?.unrefTimer?.(timer);
  return () => clearTimeout(timer as ReturnType<typeof setTimeout>);
}

/**
 * Settles like `promise`, but rejects with an error from `createError` after `ms`. The operation behind the promise
 * continues, and its result is ignored.
 */
export async function withTimeout<T>(ms: number, promise: Promise<T>, createError: () => unknown): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    // The second timer lets the event loop process a response that arrived while the event loop was blocked.
    timer = setTimeout(
      () => {
        timer = setTimeout(() => reject(createError()), 0);
      },
      Math.min(ms, MAX_TIMER_MS),
    );
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
