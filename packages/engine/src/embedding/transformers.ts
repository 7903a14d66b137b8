import { createHash } from 'node:crypto';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Embedder, EmbedderUnavailable } from '@memoryd/core/models';
import { createThreadEmbedder } from './embedding-scheduler.ts';
import { getEncodingMark } from './encoding.ts';
import { type ConfiguredEncoding, readEncoding } from './model-folder.ts';
import { ModelThreads } from './model-threads.ts';
import { startThread, type Thread } from './thread.ts';

const PACKAGE = '@huggingface/transformers';

const NOT_CONFIGURED: ConfiguredEncoding = { prefixes: { query: undefined, memory: undefined }, pooling: undefined };

/** The files that determine a model's vectors. Weights over 2 GB are stored in a separate file. */
const MODEL_FILES = [
  'config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'onnx/model.onnx',
  'onnx/model.onnx_data',
];

/**
 * Opens a feature extraction model on its own thread, with ONNX weights in full precision. The model runs in the
 * optional package @huggingface/transformers, which must be installed separately. Prefixes and pooling are read from
 * the model's folder, where sentence-transformers saves them. A memory longer than the model's window or 512 tokens
 * gets one vector for each part; a query gets the mean of its first eight parts.
 *
 * @param nameOrFolder a folder with `config.json`, `tokenizer.json` and `onnx/model.onnx`, or a name on the Hugging
 * Face hub, from which the package downloads and caches the model
 * @param configured prefixes and pooling, which take precedence over those of the folder; the files of a hub model are
 * not read
 * @throws EmbedderUnavailable if the package is not installed, the model cannot be loaded or requires an unsupported
 * feature, its window is too short for the prefixes, or the signal is aborted
 */
export async function openTransformers(
  nameOrFolder: string,
  signal: AbortSignal,
  configured: ConfiguredEncoding = NOT_CONFIGURED,
): Promise<Embedder> {
  assertInstalled(PACKAGE, `npm install ${PACKAGE}@4`);
  const folder = isFolder(nameOrFolder) ? resolve(nameOrFolder) : undefined;
  const encoding = await readEncoding(folder, configured);
  try {
    const thread = startThread({ kind: 'transformers', source: folder ?? nameOrFolder, encoding });
    const dimensions = await loadModel(thread, signal);
    const name = await getName(nameOrFolder, folder).catch(async (error) => {
      await thread.stop();
      throw error;
    });
    const modelId = `transformers:${name}:${dimensions}${getEncodingMark(encoding)}`;
    return createThreadEmbedder(new ModelThreads(thread), { modelId, dimensions, textsTogether: 1 });
  } catch (cause) {
    // A RangeError means that the model supports too few tokens for its prefix.
    const message = cause instanceof RangeError ? cause.message : 'the model cannot be loaded';
    throw new EmbedderUnavailable(message, { option: 'embedder', cause });
  }
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

/**
 * Loads the model by embedding a text, and returns the length of the vector. On abort, loading continues, and the
 * thread stops afterwards, because terminating a thread inside the native library aborts the process.
 */
async function loadModel(thread: Thread, signal: AbortSignal): Promise<number> {
  const loading = thread.embedParts(['memory'], 'short');
  let abortLoading = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    abortLoading = () => reject(new Error('opening the model was aborted'));
    if (signal.aborted) abortLoading();
    signal.addEventListener('abort', abortLoading);
  });
  try {
    return (await Promise.race([loading, aborted]))[0]?.vector.length ?? 0;
  } catch (error) {
    const ended = loading.then(thread.stop, thread.stop);
    if (!signal.aborted) await ended;
    throw error;
  } finally {
    signal.removeEventListener('abort', abortLoading);
  }
}

async function getName(nameOrFolder: string, folder: string | undefined): Promise<string> {
  return folder === undefined ? nameOrFolder : (await getDigest(folder)).slice(0, 12);
}

async function getDigest(folder: string): Promise<string> {
  const hash = createHash('sha256');
  for (const name of MODEL_FILES) {
    const path = join(folder, name);
    if (existsSync(path)) await pipeline(createReadStream(path), hash, { end: false });
  }
  return hash.digest('hex');
}

/** Throws EmbedderUnavailable with the install command if an optional package is missing. */
function assertInstalled(name: string, command: string): void {
  try {
    createRequire(import.meta.url).resolve(name);
  } catch (cause) {
    throw new EmbedderUnavailable(`the embedder needs a package that is not installed: run ${command}`, {
      option: 'embedder',
      cause,
    });
  }
}
