import { workerData } from 'node:worker_threads';
import type { EmbeddedPart, EmbedPart } from './embed-part.ts';

/** Loads a model from what names it to its kind: a folder, say. */
type LoadModel = (source: string) => Promise<EmbedPart>;

// The native library is loaded with the first call, so that its absence is that call's error and not the thread's end.
const LOADERS = {
  minilm: async (source) => (await import('./minilm/model.ts')).loadModel(source),
  transformers: async (source) => (await import('./transformers/model.ts')).loadModel(source),
} satisfies Record<string, LoadModel>;

/** What the thread is started with. */
export interface WorkerData {
  kind: keyof typeof LOADERS;
  source: string;
  /** One shared cell: 1 from before a call until its native code has returned. */
  busy: Int32Array;
}

const { kind, source, busy } = workerData as WorkerData;
let model: Promise<EmbedPart> | undefined;

/** Embeds the first part of a window; the first call loads the model and every call rejects if that fails. */
export default async function embedPart(window: string): Promise<EmbeddedPart> {
  try {
    model ??= LOADERS[kind](source);
    return await (await model)(window);
  } finally {
    Atomics.store(busy, 0, 0);
    Atomics.notify(busy, 0);
  }
}
