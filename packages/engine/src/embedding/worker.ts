import { setImmediate as nextTurn } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import type { EmbeddedPart, Model, Turn } from '@memoryd/minilm/parts';
import type { EmbedPurpose } from '../ports/embedder.ts';
import { type Encoding, PLAIN_ENCODING } from './encoding.ts';

/** Loads a model from a folder, or by its name on the hub, for each purpose of a text. */
type LoadModels = (source: string, encoding: Encoding) => Promise<Record<EmbedPurpose, Model>>;

// The native library is loaded with the first call, so that its absence is that call's error and not the thread's end.
const LOADERS = {
  async minilm(source) {
    const model = await (await import('@memoryd/minilm')).loadModel(source);
    return { query: model, memory: model };
  },
  transformers: async (...model) => (await import('./transformers-model.ts')).loadModels(...model),
} satisfies Record<string, LoadModels>;

/** What the thread is started with. */
export interface WorkerData {
  kind: keyof typeof LOADERS;
  source: string;
  /** `PLAIN_ENCODING` if absent; `minilm` knows no other. */
  encoding?: Encoding;
  /** One shared cell: calls from before they are sent until their native code has returned. */
  busy: Int32Array;
}

/** What the thread is asked for. */
export interface PartsCall {
  windows: readonly string[];
  purpose: EmbedPurpose;
}

const { kind, source, encoding = PLAIN_ENCODING, busy } = workerData as WorkerData;
let models: ReturnType<LoadModels> | undefined;

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
    models ??= LOADERS[kind](source, encoding);
    const embedded = (await models)[purpose](windows, turns[purpose]);
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
