import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpClient } from '../http-client.ts';
import type { Dialogue } from './dialogue.ts';
import { type Figures, percentilesMs, prefixed, rounded } from './figures.ts';
import { storeTurn } from './store-load.ts';

/** Something that goes on until the signal says that the measurement beside it has ended. */
export type Load = (end: AbortSignal) => Promise<Figures>;

/**
 * Measures while loads go on, and ends them afterwards.
 *
 * @returns the figures of all
 * @throws when any fails
 */
export async function beside(loads: readonly Load[], measure: () => Promise<Figures>): Promise<Figures> {
  const controller = new AbortController();
  const all = [measure().finally(() => controller.abort()), ...loads.map((load) => load(controller.signal))];
  const settled = await Promise.allSettled(all);
  const failed = settled.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
  if (failed) throw failed.reason;
  return Object.assign({}, ...(await Promise.all(all)));
}

const MAX_IN_PROGRESS = 64;

/**
 * Stores turns at a constant rate, whether or not earlier ones are answered: an open loop. Durations count from when a
 * store was due, so that a stall shows in full. At most 64 stores are under way; what is due meanwhile waits.
 *
 * @param from index of the first turn to store
 */
export function writer(client: HttpClient, dialogue: Dialogue, from: number, storesPerS: number): Load {
  return async (end) => {
    const durationsMs: number[] = [];
    const underWay = new Set<Promise<void>>();
    const failures: unknown[] = [];
    const startMs = performance.now();
    for (let sent = 0; !end.aborted && failures.length === 0; sent++) {
      const dueMs = startMs + (sent * 1000) / storesPerS;
      await sleep(Math.max(0, dueMs - performance.now()));
      if (underWay.size >= MAX_IN_PROGRESS) await Promise.race(underWay);
      const store = storeTurn(client, dialogue, from + sent)
        .then(() => void durationsMs.push(performance.now() - dueMs))
        .catch((error: unknown) => void failures.push(error))
        .finally(() => underWay.delete(store));
      underWay.add(store);
    }
    const seconds = (performance.now() - startMs) / 1000;
    await Promise.all(underWay);
    if (failures.length > 0) throw failures[0];
    return {
      stores: durationsMs.length,
      stores_per_s: rounded(durationsMs.length / seconds),
      ...prefixed('store', percentilesMs(durationsMs, [50, 99])),
    };
  };
}

const CONSOLIDATION_PAUSE_MS = 1000;

/** Consolidates at once, when everything stored before is new, and then again a second after each run. */
export function consolidation(client: HttpClient): Load {
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
      first_consolidation_ms: rounded(durationsMs[0] ?? Number.NaN),
      ...prefixed('consolidation', percentilesMs(durationsMs, [50])),
    };
  };
}

/** Resolves when the time or the load is over. */
async function pause(durationMs: number, end: AbortSignal): Promise<void> {
  // It rejects only when the load is over.
  await sleep(durationMs, undefined, { signal: end }).catch(() => {});
}

const BACKLOG_POLL_MS = 200;

/** Watches the server give vectors to the memories that wait for theirs. */
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
      return { embedded: first - left, embedded_per_s: rounded((first - left) / seconds) };
    };
  }
}
