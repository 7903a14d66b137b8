import { join } from 'node:path';
import { env, InferenceSession, type Tensor } from '@memoryd/onnxruntime';
import { MODEL_FILES } from './files.ts';
import { type Model, STATE_SIZE, type Turn, takePart } from './parts.ts';
import { getInputs, PART_TOKENS, readTokenizer } from './tokens.ts';

/** The tokens before and after every text, as the model was trained with them. */
const CLS = 101;
const SEP = 102;

/** Loads the model from a folder that a build has filled. Texts of about one length share a run, on one thread. */
export async function loadModel(folder: string): Promise<Model> {
  env.logLevel = 'error';
  const [{ tokenize, tells }, ...sessions] = await Promise.all([
    readTokenizer(join(folder, MODEL_FILES.tokenizer)),
    ...MODEL_FILES.graphs.map((name) => openGraph(join(folder, name))),
  ]);
  return async (windows, turn) => {
    const parts = windows.map((window) => takePart(window, tokenize, PART_TOKENS));
    const texts = parts.map(({ ids }) => [CLS, ...ids, SEP]);
    const embedded: Embedded[] = [];
    for (const run of getRuns(texts.map(({ length }) => length))) {
      const together = run.map((index) => texts[index] as number[]);
      const some = await embedTogether(sessions, together, turn);
      for (const [i, index] of run.entries()) embedded[index] = some[i] as Embedded;
    }
    return parts.map(({ ids, length }, i) => {
      const { vector, states } = embedded[i] as Embedded;
      return { vector, states: getStates(states, ids, tells), length, tokens: ids.length };
    });
  };
}

/** A text's vector, and the states of its tokens one after the other, the marks at its ends included. */
interface Embedded {
  vector: Float32Array;
  states: Int8Array;
}

/** The states of the tokens that tell what a text is about, one after the other. */
function getStates(states: Int8Array, ids: readonly number[], tells: (id: number) => boolean): Int8Array {
  const telling = ids.flatMap((id, i) => (tells(id) ? [i + 1] : []));
  const kept = new Int8Array(telling.length * STATE_SIZE);
  for (const [i, place] of telling.entries()) kept.set(stateAt(states, place), i * STATE_SIZE);
  return kept;
}

function stateAt(states: Int8Array, place: number): Int8Array {
  return states.subarray(place * STATE_SIZE, (place + 1) * STATE_SIZE);
}

/** One run of some texts by the ids of their tokens, the marks at their ends included. */
async function embedTogether(
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
    // A row for each first token, then for each second.
    const own = new Int8Array(ids.length * STATE_SIZE);
    for (let i = 0; i < ids.length; i++) own.set(stateAt(states, i * texts.length + text), i * STATE_SIZE);
    return { vector: (data as Float32Array).slice(text * length, (text + 1) * length), states: own };
  });
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
export function getRuns(lengths: readonly number[]): number[][] {
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
