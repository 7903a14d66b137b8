import { join } from 'node:path';
import { env, InferenceSession, Tensor } from 'onnxruntime-node';
import type { EmbedPart } from '../embed-part.ts';
import { takePart } from '../parts.ts';
import { MODEL_FILES } from './files.ts';
import { PART_TOKENS, readTokenizer } from './tokens.ts';

/** The tokens before and after every text, as the model was trained with them. */
const CLS = 101;
const SEP = 102;

/**
 * Loads the model from a folder that a build has filled.
 *
 * One text a run, on one thread: the activations' scale is taken from the whole run, so a neighbour would change a
 * text's vector, and a run of many texts saves little.
 */
export async function loadModel(folder: string): Promise<EmbedPart> {
  env.logLevel = 'error';
  const [tokenize, session] = await Promise.all([
    readTokenizer(join(folder, MODEL_FILES.tokenizer)),
    // By its path, so that no copy of the file stays in memory; memory patterns would keep one for each length of text.
    InferenceSession.create(join(folder, MODEL_FILES.graph), {
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
      executionMode: 'sequential',
      enableMemPattern: false,
      logSeverityLevel: 3,
    }),
  ]);
  return async (window) => {
    const { ids, length } = takePart(window, tokenize, PART_TOKENS);
    const input = Int32Array.of(CLS, ...ids, SEP);
    const { vector } = await session.run({ ids: new Tensor('int32', input, [input.length]) });
    return { vector: vector?.data as Float32Array, length, tokens: ids.length };
  };
}
