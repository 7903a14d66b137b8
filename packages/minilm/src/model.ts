import { join } from 'node:path';
import { env, InferenceSession, type Tensor } from '@memoryd/onnxruntime';
import { MODEL_FILES } from './files.ts';
import { type Model, type Turn, takePart } from './parts.ts';
import { inputsOf, PART_TOKENS, readTokenizer } from './tokens.ts';

/** The tokens before and after every text, as the model was trained with them. */
const CLS = 101;
const SEP = 102;

/** Loads the model from a folder that a build has filled. Texts of about one length share a run, on one thread. */
export async function loadModel(folder: string): Promise<Model> {
  env.logLevel = 'error';
  const [tokenize, ...sessions] = await Promise.all([
    readTokenizer(join(folder, MODEL_FILES.tokenizer)),
    ...MODEL_FILES.graphs.map((name) => openGraph(join(folder, name))),
  ]);
  return async (windows, turn) => {
    const parts = windows.map((window) => takePart(window, tokenize, PART_TOKENS));
    const texts = parts.map(({ ids }) => [CLS, ...ids, SEP]);
    const vectors: Float32Array[] = [];
    for (const run of runsOf(texts.map(({ length }) => length))) {
      const together = run.map((index) => texts[index] as number[]);
      const embedded = await embedTogether(sessions, together, turn);
      for (const [i, index] of run.entries()) vectors[index] = embedded[i] as Float32Array;
    }
    return parts.map(({ ids, length }, i) => ({ vector: vectors[i] as Float32Array, length, tokens: ids.length }));
  };
}

/** One run: the vectors of some texts by the ids of their tokens, the marks at their ends included. */
async function embedTogether(
  sessions: readonly InferenceSession[],
  texts: readonly (readonly number[])[],
  turn: Turn,
): Promise<Float32Array[]> {
  const tensors: Record<string, Tensor> = inputsOf(texts);
  for (const session of sessions) {
    await turn();
    const feeds = Object.fromEntries(session.inputNames.map((name) => [name, tensors[name] as Tensor]));
    Object.assign(tensors, await session.run(feeds));
  }
  const { data, dims } = tensors.vectors as Tensor;
  const length = dims[1] as number;
  return texts.map((_, i) => (data as Float32Array).slice(i * length, (i + 1) * length));
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

/**
 * What a run costs besides its tokens, in tokens: reading all weights and starting each operator takes as long as 12
 * further tokens.
 */
const RUN_COST = 12;

/** Most tokens of a run of several texts, padding included: longer runs save nothing more, and a query waits for half a one. */
export const RUN_TOKENS = 128;

/**
 * Which texts share a run, by how many tokens each has: those of about one length, so that what is padded to the longest
 * costs less than runs of their own. Each text is in one run, by its index.
 */
export function runsOf(lengths: readonly number[]): number[][] {
  const ascending = lengths.map((_, index) => index).sort((a, b) => (lengths[a] as number) - (lengths[b] as number));
  const runs: number[][] = [];
  let longest = 0;
  for (const index of ascending) {
    const length = lengths[index] as number;
    const run = runs.at(-1);
    const fits = run && (run.length + 1) * length <= RUN_TOKENS && run.length * (length - longest) <= RUN_COST;
    if (fits) run.push(index);
    else runs.push([index]);
    longest = length;
  }
  return runs;
}
