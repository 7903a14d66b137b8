import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpClient } from '../http-client.ts';
import type { Dialogue } from './dialogue.ts';
import { addPrefix, type Figures, percentilesMs, roundFigure } from './figures.ts';
import { storeTurn } from './store-load.ts';

/** Background load. Ends when the signal aborts, or earlier if there is nothing left to do. */
export type Load = (end: AbortSignal) => Promise<Figures>;

/**
 * Runs a measurement under background loads, and stops the loads afterwards.
 *
 * @returns the figures of the measurement and of all loads
 * @throws if the measurement or a load fails
 */
export async function measureUnderLoad(loads: readonly Load[], measure: () => Promise<Figures>): Promise<Figures> {
  const controller = new AbortController();
  const all = [measure().finally(() => controller.abort()), ...loads.map((load) => load(controller.signal))];
  const settled = await Promise.allSettled(all);
  const failed = settled.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
  if (failed) throw failed.reason;
  return Object.assign({}, ...(await Promise.all(all)));
}

const MAX_IN_FLIGHT = 64;

/**
 * Stores turns at a constant rate without waiting for responses (an open loop). Durations start when a store was due,
 * so that they include stalls. At most 64 stores are in flight; further stores wait.
 *
 * @param from index of the first turn to store
 */
export function createWriter(client: HttpClient, dialogue: Dialogue, from: number, storesPerS: number): Load {
  return async (end) => {
    const durationsMs: number[] = [];
    const inFlight = new Set<Promise<void>>();
    const failures: unknown[] = [];
    const startMs = performance.now();
    for (let sent = 0; !end.aborted && failures.length === 0; sent++) {
      const dueMs = startMs + (sent * 1000) / storesPerS;
      await sleep(Math.max(0, dueMs - performance.now()));
      if (inFlight.size >= MAX_IN_FLIGHT) await Promise.race(inFlight);
      const store = storeTurn(client, dialogue, from + sent)
        .then(() => void durationsMs.push(performance.now() - dueMs))
        .catch((error: unknown) => void failures.push(error))
        .finally(() => inFlight.delete(store));
      inFlight.add(store);
    }
    const seconds = (performance.now() - startMs) / 1000;
    await Promise.all(inFlight);
    if (failures.length > 0) throw failures[0];
    return {
      stores: durationsMs.length,
      stores_per_s: roundFigure(durationsMs.length / seconds),
      ...addPrefix('store', percentilesMs(durationsMs, [50, 99])),
    };
  };
}

const CONSOLIDATION_PAUSE_MS = 1000;

/** Consolidates at once, while all memories are new, and again 1 s after each run. */
export function createConsolidationLoad(client: HttpClient): Load {
  return async (end) => {
    const durationsMs: number[] = [];
    let consolidated = 0;
    do {
      const startMs = performance.now();
      consolidated += (await client.consolidate()).consolidated_count;
      durationsMs.push(performance.now() - startMs);
      await pause(CONSOLIDATION_PAUSE_MS, end);
    } while (!end.aborted);
    return {
      consolidations: durationsMs.length,
      consolidated,
      first_consolidation_ms: roundFigure(durationsMs[0] ?? Number.NaN),
      ...addPrefix('consolidation', percentilesMs(durationsMs, [50])),
    };
  };
}

/** Resolves after the duration, or when the load ends. */
async function pause(durationMs: number, end: AbortSignal): Promise<void> {
  // Ignores the rejection, because `sleep` rejects only if the signal aborts.
  await sleep(durationMs, undefined, { signal: end }).catch(() => {});
}

const BACKLOG_POLL_MS = 200;

/** Background load that polls the server until no embedding is pending or the signal aborts. */
export class EmbeddingBacklog {
  #isDone = false;

  isDone = (): boolean => this.#isDone;

  load(client: HttpClient): Load {
    return async (end) => {
      const { pending_embeddings: first } = await client.stats();
      const startMs = performance.now();
      let left = first;
      while (left > 0 && !end.aborted) {
        await pause(BACKLOG_POLL_MS, end);
        left = (await client.stats()).pending_embeddings;
      }
      this.#isDone = true;
      const seconds = (performance.now() - startMs) / 1000;
      return { embedded: first - left, embedded_per_s: roundFigure((first - left) / seconds) };
    };
  }
}
