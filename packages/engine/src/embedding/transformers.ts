import { createHash } from 'node:crypto';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Embedder, EmbedderUnavailable } from '../ports/embedder.ts';
import { threadEmbedder } from './lanes.ts';
import { startThread, type Thread } from './thread.ts';

const PACKAGE = '@huggingface/transformers';

/** What a vector depends on, in the folder of a model; weights of more than 2 GB are in a file of their own. */
const MODEL_FILES = [
  'config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'onnx/model.onnx',
  'onnx/model.onnx_data',
];

/**
 * Opens a model for feature extraction on a thread of its own: ONNX weights in full precision, mean pooling. The
 * package @huggingface/transformers, which is not installed with this one, runs it. A text longer than the model's
 * window, or than 512 tokens, gives one vector for each part of it; a query gives the mean of its first eight parts.
 *
 * @param nameOrFolder a folder with `config.json`, `tokenizer.json` and `onnx/model.onnx`; else a name on the Hugging
 * Face hub, from which that package fetches and keeps it
 */
export async function openTransformers(nameOrFolder: string, signal: AbortSignal): Promise<Embedder> {
  assertInstalled(PACKAGE, `npm install ${PACKAGE}@4`);
  const folder = isFolder(nameOrFolder) ? resolve(nameOrFolder) : undefined;
  try {
    const thread = startThread({ kind: 'transformers', source: folder ?? nameOrFolder });
    const dimensions = await loaded(thread, signal);
    const name = await nameOf(nameOrFolder, folder).catch(async (error) => {
      await thread.stop();
      throw error;
    });
    return threadEmbedder(thread, { modelId: `transformers:${name}:${dimensions}`, dimensions, textsTogether: 1 });
  } catch (cause) {
    throw new EmbedderUnavailable('the model cannot be loaded', { option: 'embedder', cause });
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

async function nameOf(nameOrFolder: string, folder: string | undefined): Promise<string> {
  return folder === undefined ? nameOrFolder : (await digestOf(folder)).slice(0, 12);
}

async function digestOf(folder: string): Promise<string> {
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
