import { createHash } from 'node:crypto';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Embedder, EmbedderUnavailable } from '../ports/embedder.ts';
import { getEncodingMark } from './encoding.ts';
import { threadEmbedder } from './lanes.ts';
import { type GivenEncoding, readEncoding } from './model-folder.ts';
import { startThread, type Thread } from './thread.ts';

const PACKAGE = '@huggingface/transformers';

const NOTHING_GIVEN: GivenEncoding = { prefixes: { query: undefined, memory: undefined }, pooling: undefined };

/** The files of a folder that its weights and tokens depend on; weights of more than 2 GB are in a file of their own. */
const MODEL_FILES = [
  'config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'onnx/model.onnx',
  'onnx/model.onnx_data',
];

/**
 * Opens a model for feature extraction on a thread of its own: ONNX weights in full precision. The package
 * @huggingface/transformers, which is not installed with this one, runs it. Prefixes and pooling are read from the folder of
 * the model, where sentence-transformers saves them. A text longer than the model's window, or than 512 tokens, gives one
 * vector for each part of it; a query gives the mean of its first eight parts.
 *
 * @param nameOrFolder a folder with `config.json`, `tokenizer.json` and `onnx/model.onnx`; else a name on the Hugging
 * Face hub, from which that package fetches and keeps it
 * @param given prefixes and a pooling that win over the files of the folder; a model of the hub has no others
 * @throws EmbedderUnavailable if a file is missing or asks for something that cannot be done
 */
export async function openTransformers(
  nameOrFolder: string,
  signal: AbortSignal,
  given: GivenEncoding = NOTHING_GIVEN,
): Promise<Embedder> {
  assertInstalled(PACKAGE, `npm install ${PACKAGE}@4`);
  const folder = isFolder(nameOrFolder) ? resolve(nameOrFolder) : undefined;
  const encoding = await readEncoding(folder, given);
  try {
    const thread = startThread({ kind: 'transformers', source: folder ?? nameOrFolder, encoding });
    const dimensions = await loaded(thread, signal);
    const name = await getName(nameOrFolder, folder).catch(async (error) => {
      await thread.stop();
      throw error;
    });
    const modelId = `transformers:${name}:${dimensions}${getEncodingMark(encoding)}`;
    return threadEmbedder(thread, { modelId, dimensions, textsTogether: 1 });
  } catch (cause) {
    // A RangeError says that the model is too small for its prefix.
    const message = cause instanceof RangeError ? cause.message : 'the model cannot be loaded';
    throw new EmbedderUnavailable(message, { option: 'embedder', cause });
  }
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

/**
 * Resolves with the length of its vectors when the thread has embedded. Giving up leaves a load to end by itself and
 * ends the thread after it, since a thread that is ended inside the native library takes the process with it.
 */
async function loaded(thread: Thread, signal: AbortSignal): Promise<number> {
  const loading = thread.embedParts(['memory'], 'memory');
  let giveUp = () => {};
  const givenUp = new Promise<never>((_resolve, reject) => {
    giveUp = () => reject(new Error('given up'));
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp);
  });
  try {
    return (await Promise.race([loading, givenUp]))[0]?.vector.length ?? 0;
  } catch (error) {
    const ended = loading.then(thread.stop, thread.stop);
    if (!signal.aborted) await ended;
    throw error;
  } finally {
    signal.removeEventListener('abort', giveUp);
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

/** Throws EmbedderUnavailable, with the command that helps, unless a package that may be left out is there. */
function assertInstalled(name: string, command: string): void {
  try {
    createRequire(import.meta.url).resolve(name);
  } catch (cause) {
    throw new EmbedderUnavailable(`it needs a package that is not installed: ${command}`, {
      option: 'embedder',
      cause,
    });
  }
}
