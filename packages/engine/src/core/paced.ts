/** Longest pause, however long the work before it took. */
const LONGEST_PAUSE_MS = 100;

/**
 * Does a part of some work that nobody waits for, and then lets others have the machine for as long as it took, or for
 * 100 ms where that is less; rejects at once where the work fails.
 */
export async function paced<T>(work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const done = await work();
  const tookMs = performance.now() - startedAt;
  await new Promise((resolve) => setTimeout(resolve, Math.min(tookMs, LONGEST_PAUSE_MS)));
  return done;
}
