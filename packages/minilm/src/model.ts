import { join } from 'node:path';
import { env, InferenceSession, type Tensor } from '@memoryd/onnxruntime';
import { MODEL_FILES } from './files.ts';
import { type Model, STATE_SIZE, type Turn, takePart } from './parts.ts';
import { getInputs, PART_TOKENS, readTokenizer } from './tokens.ts';

/** Token ids of the markers at the start (CLS) and at the end (SEP) of every text. */
const CLS = 101;
const SEP = 102;

/** Loads the model from a built folder. The model runs on one thread; texts of similar length share a run. */
export async function loadModel(folder: string): Promise<Model> {
  env.logLevel = 'error';
  const [{ tokenize, isInformative }, ...sessions] = await Promise.all([
    readTokenizer(join(folder, MODEL_FILES.tokenizer)),
    ...MODEL_FILES.graphs.map((name) => openGraph(join(folder, name))),
  ]);
  return async (windows, turn) => {
    const parts = windows.map((window) => takePart(window, tokenize, PART_TOKENS));
    const texts = parts.map(({ ids }) => [CLS, ...ids, SEP]);
    const embedded: Embedded[] = [];
    for (const run of groupIntoRuns(texts.map(({ length }) => length))) {
      const batch = run.map((index) => texts[index] as number[]);
      const results = await runTexts(sessions, batch, turn);
      for (const [i, index] of run.entries()) embedded[index] = results[i] as Embedded;
    }
    return parts.map(({ ids, length }, i) => {
      const { vector, states } = embedded[i] as Embedded;
      return { vector, states: getInformativeStates(states, ids, isInformative), length, tokens: ids.length };
    });
  };
}

/** A text's vector, and the concatenated states of its tokens, including the markers at both ends. */
interface Embedded {
  vector: Float32Array;
  states: Int8Array;
}

/** Returns the states of the informative tokens, concatenated. */
function getInformativeStates(
  states: Int8Array,
  ids: readonly number[],
  isInformative: (id: number) => boolean,
): Int8Array {
  const informative = ids.flatMap((id, i) => (isInformative(id) ? [i + 1] : []));
  const selected = new Int8Array(informative.length * STATE_SIZE);
  for (const [i, place] of informative.entries()) selected.set(getState(states, place), i * STATE_SIZE);
  return selected;
}

function getState(states: Int8Array, place: number): Int8Array {
  return states.subarray(place * STATE_SIZE, (place + 1) * STATE_SIZE);
}

/** Runs the model over texts, given as token ids including the markers at both ends. */
async function runTexts(
  sessions: readonly InferenceSession[],
  texts: readonly (readonly number[])[],
  turn: Turn,
): Promise<Embedded[]> {
  const tensors: Record<string, Tensor> = getInputs(texts);
  for (const session of sessions) {
    await turn();
    const feeds = Object.fromEntries(session.inputNames.map((name) => [name, tensors[name] as Tensor]));
    Object.assign(tensors, await session.run(feeds));
  }
  const { data, dims } = tensors.vectors as Tensor;
  const length = dims[1] as number;
  const states = tensors.states?.data as Int8Array;
  return texts.map((ids, text) => {
    // Rows are ordered by token position, then by text.
    const textStates = new Int8Array(ids.length * STATE_SIZE);
    for (let i = 0; i < ids.length; i++) textStates.set(getState(states, i * texts.length + text), i * STATE_SIZE);
    return { vector: (data as Float32Array).slice(text * length, (text + 1) * length), states: textStates };
  });
}

// Loaded by path, so that no copy of the file stays in memory. Memory patterns are disabled, because the runtime would
// cache one for each text length.
function openGraph(path: string): Promise<InferenceSession> {
  return InferenceSession.create(path, {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    enableMemPattern: false,
    logSeverityLevel: 3,
  });
}

/** Fixed cost of a run, in tokens: reading all weights and starting each operator takes as long as 12 more tokens. */
const RUN_COST = 12;

/**
 * Maximum tokens of a run of several texts, including padding. Longer runs save no time. A query waits for at most half
 * a run, because it can run between the two graphs.
 */
export const MAX_RUN_TOKENS = 128;

/**
 * Groups texts into runs, by their token counts. Texts of similar length share a run if their padding costs less than
 * separate runs. Returns the indices of the texts of each run.
 */
export function groupIntoRuns(lengths: readonly number[]): number[][] {
  const ascending = lengths.map((_, index) => index).sort((a, b) => (lengths[a] as number) - (lengths[b] as number));
  const runs: number[][] = [];
  let longest = 0;
  for (const index of ascending) {
    const length = lengths[index] as number;
    const run = runs.at(-1);
    const fits = run && (run.length + 1) * length <= MAX_RUN_TOKENS && run.length * (length - longest) <= RUN_COST;
    if (fits) run.push(index);
    else runs.push([index]);
    longest = length;
  }
  return runs;
}
