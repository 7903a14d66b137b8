import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Embedder } from '../../ports/embedder.ts';
import { assertInstalled } from '../installed.ts';
import { startThread, type Thread } from '../thread.ts';
import { threadEmbedder } from '../thread-embedder.ts';
import { BUILT_FOLDER, MODEL_FILES, type ModelManifest } from './files.ts';

/** So many of the shortest texts, of a word or two, fill a run. */
const TEXTS_TOGETHER = 16;

/**
 * Opens the bundled all-MiniLM-L6-v2 on a thread of its own: 384 dimensions, English above all. A text of more than
 * 254 tokens gives one vector for each part of it; a query gives the mean of its first eight parts.
 *
 * Calls reject with UNAVAILABLE when too many wait or after closing, with RangeError for more texts than
 * `largestBatch`, and with any other error when the model fails.
 *
 * @param folder where the model's files are; those of this package where absent
 * @throws EmbedderUnavailable when the native library is not installed: npm leaves it out where it cannot fetch the CUDA
 * files that its install script asks for
 * @throws Error when the files or the native library cannot be loaded
 */
export async function openMiniLm(folder: string = BUILT_FOLDER): Promise<Embedder> {
  assertInstalled('onnxruntime-node', 'ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node@1');
  try {
    const manifest: ModelManifest = JSON.parse(await readFile(join(folder, MODEL_FILES.manifest), 'utf8'));
    return threadEmbedder(await startLoaded(folder), { ...manifest, textsTogether: TEXTS_TOGETHER });
  } catch (cause) {
    throw new Error(`the embedding model in ${folder} cannot be loaded: ${(cause as Error).message}`, { cause });
  }
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
