import { performance } from 'node:perf_hooks';
import { waitForEmbeddings } from '../embedding-wait.ts';
import type { HttpClient } from '../http-client.ts';
import type { Dialogue } from './dialogue.ts';
import { type Figures, roundFigure } from './figures.ts';
import { measureStep, type OnStep } from './step.ts';
import { measureBatches, measureStore, type TurnRange } from './store-load.ts';

/** Number of concurrent clients that fill the embedding queue, and that store on servers without a batch route. */
export const FILLING_CLIENTS = 256;

const MAX_PENDING = 5000;
// Enough memories that the embedding queue is still long while the `queued` turns are stored.
const MAX_FILLERS = 1024;
const MAX_QUEUED = 20_000;

/**
 * Splits the turns into consecutive ranges: `awaited` are stored while responses wait for vectors, `filler` lengthens
 * the embedding queue, `queued` are stored without waiting for vectors, and `rest` goes into batches.
 */
export function splitTurns(count: number): Record<'awaited' | 'filler' | 'queued' | 'rest', TurnRange> {
  const awaited = Math.min(MAX_PENDING, Math.floor(count / 4));
  const filler = Math.min(MAX_FILLERS, Math.floor(count / 4));
  const queued = Math.min(MAX_QUEUED, Math.floor(count / 4));
  return {
    awaited: { from: 0, count: awaited },
    filler: { from: awaited, count: filler },
    queued: { from: awaited + filler, count: queued },
    rest: { from: awaited + filler + queued, count: count - awaited - filler - queued },
  };
}

export interface FillingPlan {
  dialogue: Dialogue;
  count: number;
  /** Number of concurrent clients, except for filling the embedding queue and for batches. */
  clients: number;
  signal: AbortSignal;
}

/** Fills an empty server, and measures how fast it stores and embeds memories. */
export async function measureFilling(client: HttpClient, plan: FillingPlan, onStep: OnStep): Promise<void> {
  const ranges = splitTurns(plan.count);
  const startMs = performance.now();
  const store = (label: string, range: TurnRange, clients: number): Promise<Figures> =>
    measureStep(client, label, range.count, (progress) =>
      measureStore(client, plan.dialogue, { ...range, clients, progress }),
    );
  onStep('store', await store('storing', ranges.awaited, plan.clients));
  await store('filling the embedding queue', ranges.filler, FILLING_CLIENTS);
  const queued = await store('storing without waiting for vectors', ranges.queued, plan.clients);
  onStep('store_queued', { ...queued, ...(await getPendingAfter(client)) });
  await measureRest(client, plan, ranges.rest, onStep);
  await measureEmbedding(client, plan, startMs, onStep);
}

async function measureRest(client: HttpClient, plan: FillingPlan, rest: TurnRange, onStep: OnStep): Promise<void> {
  let taken: Figures | undefined;
  const batches = await measureStep(client, 'storing in batches', rest.count, async (progress) => {
    taken = await measureBatches(client, plan.dialogue, { ...rest, progress });
    return taken ?? {};
  });
  if (taken) return onStep('store_batch', batches);
  const many = await measureStep(client, 'storing from many clients', rest.count, (progress) =>
    measureStore(client, plan.dialogue, { ...rest, clients: FILLING_CLIENTS, progress }),
  );
  onStep('store_many_clients', many);
}

async function measureEmbedding(
  client: HttpClient,
  { count, signal }: FillingPlan,
  startMs: number,
  onStep: OnStep,
): Promise<void> {
  const { pending_after: pending } = await getPendingAfter(client);
  const figures = await measureStep(client, 'embedding', pending, async (progress) => {
    const fromMs = performance.now();
    await waitForEmbeddings(client, signal, (embedded) => progress.advance(embedded));
    const waitS = (performance.now() - fromMs) / 1000;
    return {
      pending_after_store: pending,
      wait_s: roundFigure(waitS),
      embedded_per_s: pending > 0 ? roundFigure(pending / waitS) : null,
      memories_from_first_store_per_s: roundFigure((count * 1000) / (performance.now() - startMs)),
    };
  });
  const { embedder } = await client.health();
  onStep('embed', { embedder, ...figures });
}

async function getPendingAfter(client: HttpClient): Promise<{ pending_after: number }> {
  return { pending_after: (await client.stats()).pending_embeddings };
}
