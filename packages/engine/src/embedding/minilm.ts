import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BUILT_FOLDER, MODEL_FILES, type ModelManifest } from '@memoryd/minilm/files';
import type { Embedder } from '../ports/embedder.ts';
import { threadEmbedder } from './lanes.ts';
import { startThread, type Thread } from './thread.ts';

/** So many of the shortest texts, of a word or two, fill a run. */
const TEXTS_TOGETHER = 16;

/**
 * Opens the bundled all-MiniLM-L6-v2 on a thread of its own: 384 dimensions, English only. A text of more than
 * 254 tokens gives one vector for each part of it; a query gives the mean of its first eight parts.
 *
 * Calls reject with UNAVAILABLE when too many wait or after closing, with RangeError for more texts than
 * `largestBatch`, and with any other error when the model fails.
 *
 * @param folder where the model's files are; those of this package where absent
 * @throws Error when the files cannot be loaded, or there is no native library for this kind of machine
 */
export async function openMiniLm(folder: string = BUILT_FOLDER): Promise<Embedder> {
  try {
    const manifest: ModelManifest = JSON.parse(await readFile(join(folder, MODEL_FILES.manifest), 'utf8'));
    return threadEmbedder(await startLoaded(folder), { ...manifest, onlyEnglish: true, textsTogether: TEXTS_TOGETHER });
  } catch (cause) {
    throw new Error(`the embedding model in ${folder} cannot be loaded: ${(cause as Error).message}`, { cause });
  }
}

/** Returns an embedder that gives the vectors of another alone, as a model of its own. */
export function withoutStates(embedder: Embedder): Embedder {
  return {
    ...embedder,
    modelId: `${embedder.modelId}:vectors-alone`,
    async embed(texts, purpose) {
      const embeddings = await embedder.embed(texts, purpose);
      return embeddings.map(({ vectors }) => ({ vectors }));
    },
  };
}

/** A thread that has shown that it can embed. */
async function startLoaded(folder: string): Promise<Thread> {
  const thread = startThread({ kind: 'minilm', source: folder });
  try {
    await thread.embedParts([''], 'memory');
    return thread;
  } catch (error) {
    await thread.stop();
    throw error;
  }
}
