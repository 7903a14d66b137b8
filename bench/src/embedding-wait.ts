import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpClient } from './http-client.ts';

const MIN_POLL_MS = 50;
const MAX_POLL_MS = 1000;
const STALL_TIMEOUT_MS = 120_000;

/**
 * Resolves when the model is open and no embedding is pending. A server counts no memory as pending until its model is
 * open, which takes longer than its start if the machine is busy.
 *
 * @param onEmbedded called with the number of memories embedded since the previous call
 * @throws if the model does not open within 120 s, or the number of pending embeddings does not fall for 120 s
 */
export async function waitForEmbeddings(
  client: HttpClient,
  signal: AbortSignal,
  onEmbedded: (embedded: number) => void = () => {},
): Promise<void> {
  let minPending = Number.POSITIVE_INFINITY;
  let lastProgressMs = performance.now();
  while (true) {
    const { embedder } = await client.health();
    const isOpen = embedder !== 'unavailable';
    const { pending_embeddings: pending } = await client.stats();
    if (isOpen && pending < minPending) {
      if (Number.isFinite(minPending)) onEmbedded(minPending - pending);
      minPending = pending;
      lastProgressMs = performance.now();
    }
    if (isOpen && pending === 0) return;
    if (performance.now() - lastProgressMs > STALL_TIMEOUT_MS) {
      const rule = `the number of pending embeddings (${pending}) must fall within ${STALL_TIMEOUT_MS / 1000} s`;
      throw new Error(`${rule}; check the embedder of the server, which is ${embedder}`);
    }
    // The interval grows with the number of pending embeddings, so that polling does not slow embedding down.
    await sleep(Math.min(MAX_POLL_MS, MIN_POLL_MS + pending / 10), undefined, { signal });
  }
}
