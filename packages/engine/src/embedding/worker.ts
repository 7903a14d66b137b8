import { setImmediate as nextTurn } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import type { EmbeddedPart, Model, Turn } from '@memoryd/minilm/parts';
import type { EmbedPurpose } from '../ports/embedder.ts';

/** Loads a model from what names it to its kind: a folder, say. */
type LoadModel = (source: string) => Promise<Model>;

// The native library is loaded with the first call, so that its absence is that call's error and not the thread's end.
const LOADERS = {
  minilm: async (source) => (await import('@memoryd/minilm')).loadModel(source),
  transformers: async (source) => (await import('./transformers-model.ts')).loadModel(source),
} satisfies Record<string, LoadModel>;

/** What the thread is started with. */
export interface WorkerData {
  kind: keyof typeof LOADERS;
  source: string;
  /** One shared cell: calls from before they are sent until their native code has returned. */
  busy: Int32Array;
}

/** What the thread is asked for. */
export interface PartsCall {
  windows: readonly string[];
  purpose: EmbedPurpose;
}

const { kind, source, busy } = workerData as WorkerData;
let model: Promise<Model> | undefined;

/** Settles when no query is under way that is now. */
let queries: Promise<unknown> = Promise.resolve();

const turns: Record<EmbedPurpose, Turn> = {
  async query() {},
  async memory() {
    // So that queries which have come meanwhile are seen, and go first.
    await nextTurn();
    for (let awaited: unknown; awaited !== queries; ) {
      awaited = queries;
      await awaited;
    }
  },
};

/** Embeds the first part of each window; the first call loads the model and every call rejects if that fails. */
export default async function embedParts({ windows, purpose }: PartsCall): Promise<EmbeddedPart[]> {
  try {
    model ??= LOADERS[kind](source);
    const embedded = (await model)(windows, turns[purpose]);
    if (purpose === 'query') queries = both(queries, embedded);
    return await embedded;
  } finally {
    Atomics.sub(busy, 0, 1);
    Atomics.notify(busy, 0);
  }
}

/** Resolves when both have settled. */
async function both(one: Promise<unknown>, other: Promise<unknown>): Promise<void> {
  await Promise.allSettled([one, other]);
}
