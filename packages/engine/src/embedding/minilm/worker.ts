import { workerData } from 'node:worker_threads';
import type { EmbeddedPart, EmbedPart } from './model.ts';

/** What the thread is started with. */
export interface WorkerData {
  /** Where the model's files are. */
  folder: string;
  /** One shared cell: 1 from before a call until its native code has returned. */
  busy: Int32Array;
}

const { folder, busy } = workerData as WorkerData;
let model: Promise<EmbedPart> | undefined;

// The native library is loaded with the first call, so that its absence is that call's error and not the thread's end.
async function load(): Promise<EmbedPart> {
  const { loadModel } = await import('./model.ts');
  return loadModel(folder);
}

/** Embeds the first part of a window; the first call loads the model and every call rejects if that fails. */
export default async function embedPart(window: string): Promise<EmbeddedPart> {
  try {
    model ??= load();
    return await (await model)(window);
  } finally {
    Atomics.store(busy, 0, 0);
    Atomics.notify(busy, 0);
  }
}
