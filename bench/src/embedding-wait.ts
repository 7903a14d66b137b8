import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpClient } from './http-client.ts';

const MIN_POLL_MS = 50;
const MAX_POLL_MS = 1000;
const STANDSTILL_TIMEOUT_MS = 120_000;

/**
 * Resolves when no memory waits for its vector any more; rejects when their number stops falling.
 *
 * @param onFewer told how many memories got their vectors since it was last told
 */
export async function waitForEmbeddings(
  client: HttpClient,
  signal: AbortSignal,
  onFewer: (embedded: number) => void = () => {},
): Promise<void> {
  let least = Number.POSITIVE_INFINITY;
  let fellAtMs = performance.now();
  while (true) {
    const { pending_embeddings: pending } = await client.stats();
    if (pending < least) {
      if (Number.isFinite(least)) onFewer(least - pending);
      least = pending;
      fellAtMs = performance.now();
    }
    if (pending === 0) return;
    if (performance.now() - fellAtMs > STANDSTILL_TIMEOUT_MS) {
      const { embedder } = await client.health();
      throw new Error(`${pending} memories wait for their vectors and none gets one; the embedder is ${embedder}`);
    }
    // About a hundred looks over the whole wait, so that looking takes no time from embedding.
    await sleep(Math.min(MAX_POLL_MS, MIN_POLL_MS + pending / 10), undefined, { signal });
  }
}
