import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Embedder } from '@memoryd/core/models';
import { BUILT_FOLDER, MODEL_FILES, type ModelManifest } from '@memoryd/minilm/files';
import { createThreadEmbedder } from './embedding-scheduler.ts';
import { ModelThreads } from './model-threads.ts';
import { startThread, type Thread } from './thread.ts';

/** Maximum texts per step: as many texts of eight tokens, including their markers, as fill one run of the model. */
const TEXTS_TOGETHER = 16;

interface MiniLmOptions {
  /** Maximum threads, of which each has the model in memory. Defaults to 1. */
  maxThreads?: number | undefined;
  /** Folder with the model's files. Defaults to the folder in the package @memoryd/minilm. */
  folder?: string;
}

/**
 * Opens the bundled all-MiniLM-L6-v2 on its own threads: 384 dimensions, English only. A memory of more than 254 tokens
 * gets one vector for each part; a query gets the mean of its first eight parts.
 *
 * Calls reject with UNAVAILABLE if too many calls wait or the embedder is closed, with RangeError for more texts than
 * `maxBatchSize`, and with other errors if the model fails.
 *
 * @throws Error if the files cannot be loaded or no native library exists for this platform
 */
export async function openMiniLm({ maxThreads = 1, folder = BUILT_FOLDER }: MiniLmOptions = {}): Promise<Embedder> {
  try {
    const manifest: ModelManifest = JSON.parse(await readFile(join(folder, MODEL_FILES.manifest), 'utf8'));
    const start = () => startMiniLm(folder);
    return createThreadEmbedder(new ModelThreads(await start(), { start, maxThreads }), {
      ...manifest,
      onlyEnglish: true,
      hasUsualCosines: true,
      textsTogether: TEXTS_TOGETHER,
    });
  } catch (cause) {
    const problem = `the embedding model in ${folder} cannot be loaded: ${(cause as Error).message}`;
    throw new Error(`${problem}; reinstall @memoryd/minilm, or choose another embedder`, { cause });
  }
}

/** Returns an embedder without token states. The model id differs, so that the database treats it as another model. */
export function withoutStates(embedder: Embedder): Embedder {
  return {
    ...embedder,
    modelId: `${embedder.modelId}:vectors-alone`,
    async embed(...call) {
      const embeddings = await embedder.embed(...call);
      return embeddings.map(({ states: _, ...embedding }) => embedding);
    },
  };
}

/** Starts a thread and verifies that its model can embed. */
export async function startMiniLm(folder: string = BUILT_FOLDER): Promise<Thread> {
  const thread = startThread({ kind: 'minilm', source: folder });
  try {
    await thread.embedParts([''], 'short');
    return thread;
  } catch (error) {
    await thread.stop();
    throw error;
  }
}
