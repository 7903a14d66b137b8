import { join } from 'node:path';
import { env, InferenceSession, Tensor } from 'onnxruntime-node';
import type { Model } from '../embed-part.ts';
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
export async function loadModel(folder: string): Promise<Model> {
  env.logLevel = 'error';
  const [tokenize, ...sessions] = await Promise.all([
    readTokenizer(join(folder, MODEL_FILES.tokenizer)),
    ...MODEL_FILES.graphs.map((name) => openGraph(join(folder, name))),
  ]);
  return async (window, turn) => {
    const { ids, length } = takePart(window, tokenize, PART_TOKENS);
    const input = Int32Array.of(CLS, ...ids, SEP);
    let states = new Tensor('int32', input, [input.length]) as Tensor;
    for (const session of sessions) {
      await turn();
      const [name = ''] = session.inputNames;
      const results = await session.run({ [name]: states });
      states = results[session.outputNames[0] ?? ''] as Tensor;
    }
    return { vector: states.data as Float32Array, length, tokens: ids.length };
  };
}

// By its path, so that no copy of the file stays in memory; memory patterns would keep one for each length of text.
function openGraph(path: string): Promise<InferenceSession> {
  return InferenceSession.create(path, {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    enableMemPattern: false,
    logSeverityLevel: 3,
  });
}
