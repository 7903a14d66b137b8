import { performance } from 'node:perf_hooks';
import { waitForEmbeddings } from '../embedding-wait.ts';
import type { HttpClient } from '../http-client.ts';
import type { Dialogue } from './dialogue.ts';
import { type Figures, rounded } from './figures.ts';
import { measured, type TellStep } from './step.ts';
import { measureBatches, measureStore, type Stretch } from './store-load.ts';

/** Clients that make the embedding queue long, and that fill a server which takes no batches. */
export const FILLING_CLIENTS = 256;

const MAX_PENDING = 5000;
// So many that the queue stays long until the next step, although it is embedded meanwhile.
const MAX_FILLERS = 1024;
const MAX_QUEUED = 20_000;

/** The parts of a filling: stores that wait for their vectors, those that make the queue long, those that wait no more. */
export function getStretches(count: number): Record<'awaited' | 'filler' | 'queued' | 'rest', Stretch> {
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
  /** Clients that store at the same time. */
  clients: number;
  signal: AbortSignal;
}

/** Fills an empty server and measures how fast it takes memories and gives them their vectors. */
export async function measureFilling(client: HttpClient, plan: FillingPlan, tell: TellStep): Promise<void> {
  const stretches = getStretches(plan.count);
  const startMs = performance.now();
  const store = (label: string, stretch: Stretch, clients: number): Promise<Figures> =>
    measured(client, label, stretch.count, (progress) =>
      measureStore(client, plan.dialogue, { ...stretch, clients, progress }),
    );
  tell('store', await store('storing', stretches.awaited, plan.clients));
  await store('filling the embedding queue', stretches.filler, FILLING_CLIENTS);
  const queued = await store('storing without waiting for vectors', stretches.queued, plan.clients);
  tell('store_queued', { ...queued, ...(await pendingAfter(client)) });
  await measureRest(client, plan, stretches.rest, tell);
  await measureEmbedding(client, plan, startMs, tell);
}

async function measureRest(client: HttpClient, plan: FillingPlan, rest: Stretch, tell: TellStep): Promise<void> {
  let taken: Figures | undefined;
  const batches = await measured(client, 'storing in batches', rest.count, async (progress) => {
    taken = await measureBatches(client, plan.dialogue, { ...rest, progress });
    return taken ?? {};
  });
  if (taken) return tell('store_batch', batches);
  const many = await measured(client, 'storing from many clients', rest.count, (progress) =>
    measureStore(client, plan.dialogue, { ...rest, clients: FILLING_CLIENTS, progress }),
  );
  tell('store_many_clients', many);
}

async function measureEmbedding(
  client: HttpClient,
  { count, signal }: FillingPlan,
  startMs: number,
  tell: TellStep,
): Promise<void> {
  const { pending_after: pending } = await pendingAfter(client);
  const figures = await measured(client, 'embedding', pending, async (progress) => {
    const fromMs = performance.now();
    await waitForEmbeddings(client, signal, (embedded) => progress.advance(embedded));
    const waitS = (performance.now() - fromMs) / 1000;
    return {
      pending_after_store: pending,
      wait_s: rounded(waitS),
      embedded_per_s: pending > 0 ? rounded(pending / waitS) : null,
      memories_from_first_store_per_s: rounded((count * 1000) / (performance.now() - startMs)),
    };
  });
  const { embedder } = await client.health();
  tell('embed', { embedder, ...figures });
}

async function pendingAfter(client: HttpClient): Promise<{ pending_after: number }> {
  return { pending_after: (await client.stats()).pending_embeddings };
}
