import { setImmediate as nextTurn } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import type { EmbedPurpose } from '@memoryd/core/models';
import type { EmbeddedPart, Model, Turn } from '@memoryd/minilm/parts';
import { type Encoding, PLAIN_ENCODING } from './encoding.ts';
import { LANES, type Lane } from './lanes.ts';

/** Loads a model for each purpose, from a folder or by its name on the Hugging Face hub. */
type LoadModels = (source: string, encoding: Encoding) => Promise<Record<EmbedPurpose, Model>>;

// The first call loads the native library, so that a missing library rejects the call instead of ending the thread.
const LOADERS = {
  async minilm(source) {
    const model = await (await import('@memoryd/minilm')).loadModel(source);
    return { query: model, memory: model };
  },
  transformers: async (...model) => (await import('./transformers-model.ts')).loadModels(...model),
} satisfies Record<string, LoadModels>;

/** Data that the main thread passes to the embedding thread at start. */
export interface WorkerData {
  kind: keyof typeof LOADERS;
  source: string;
  /** `PLAIN_ENCODING` if omitted; `minilm` supports no other encoding. */
  encoding?: Encoding;
  /** Shared counter of calls. A call is counted from before the caller sends it until its native code has returned. */
  busy: Int32Array;
}

/** Message to the embedding thread: text windows to embed, and their lane. */
export interface PartsCall {
  windows: readonly string[];
  lane: Lane;
}

const { kind, source, encoding = PLAIN_ENCODING, busy } = workerData as WorkerData;
let models: ReturnType<LoadModels> | undefined;

/** By lane, resolves when all calls in progress have settled. */
const inProgress: Record<Lane, Promise<unknown>> = {
  query: Promise.resolve(),
  short: Promise.resolve(),
  long: Promise.resolve(),
};

const turns: Record<Lane, Turn> = {
  async query() {},
  short: () => awaitLanesBefore('short'),
  long: () => awaitLanesBefore('long'),
};

async function awaitLanesBefore(lane: Lane): Promise<void> {
  const before = LANES.slice(0, LANES.indexOf(lane));
  // Yields to the event loop, so that calls that were sent in the meantime start first.
  await nextTurn();
  for (let awaited: unknown[] = []; before.some((other, i) => inProgress[other] !== awaited[i]); ) {
    awaited = before.map((other) => inProgress[other]);
    await Promise.all(awaited);
  }
}

/** Embeds the first part of each window. The first call loads the model; if loading fails, every call rejects. */
export default async function embedParts({ windows, lane }: PartsCall): Promise<EmbeddedPart[]> {
  try {
    models ??= LOADERS[kind](source, encoding);
    const embedded = (await models)[lane === 'query' ? 'query' : 'memory'](windows, turns[lane]);
    inProgress[lane] = settleBoth(inProgress[lane], embedded);
    return await embedded;
  } finally {
    Atomics.sub(busy, 0, 1);
    Atomics.notify(busy, 0);
  }
}

async function settleBoth(one: Promise<unknown>, other: Promise<unknown>): Promise<void> {
  await Promise.allSettled([one, other]);
}
