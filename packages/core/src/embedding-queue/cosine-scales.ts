import { type CosineScale, type CosineScales, type ScriptGroup, WEIGHTS } from '@memoryd/search';
import type { Embedder } from '../ports/embedder.ts';
import { SCALE_SENTENCES } from './scale-sentences.ts';

/**
 * Minimum distance of the two means, in standard deviations of the cosines of unlike sentences, in a script that a model
 * knows. Multilingual-e5-small has 5.6 to 8 in each script; the English e5-small-v2 and bge-small-en-v1.5 have 7 and 9.7
 * in English, and .5 to 3.3 in the other scripts.
 */
const MIN_DEVIATIONS = 4.5;

/**
 * Measures the ranges of a model's cosines: in each group of scripts, the mean cosine of unlike sentences and that of
 * paraphrases, each between a query and a memory. Leaves out a group for which the model has no vectors. In a group that
 * the model does not know, differences of cosines keep their size, since stretching them would stretch noise.
 *
 * @throws what the model throws
 */
export async function measureCosineScales(embedder: Embedder): Promise<CosineScales> {
  const scales: CosineScales = {};
  for (const [group, pairs] of Object.entries(SCALE_SENTENCES)) {
    const scale = await measureScale(embedder, pairs);
    if (scale) scales[group as ScriptGroup] = scale;
  }
  return scales;
}

async function measureScale(
  embedder: Embedder,
  pairs: readonly (readonly [sentence: string, paraphrase: string])[],
): Promise<CosineScale | undefined> {
  const sentences = pairs.map(([sentence]) => sentence);
  const queries = await embedAll(embedder, sentences, 'query');
  const memories = await embedAll(embedder, [...sentences, ...pairs.map(([, paraphrase]) => paraphrase)], 'memory');
  const unlike = queries.flatMap((query, i) =>
    memories.slice(0, pairs.length).flatMap((memory, j) => (j === i ? [] : [dot(query, memory)])),
  );
  const unrelated = getMean(unlike);
  const related = getMean(queries.map((query, i) => dot(query, memories[pairs.length + i])));
  if (Number.isNaN(unrelated) || Number.isNaN(related)) return undefined;
  const deviation = Math.sqrt(getMean(unlike.map((cosine) => cosine && (cosine - unrelated) ** 2)));
  if (related - unrelated >= MIN_DEVIATIONS * deviation) return { unrelated, related };
  const usual = WEIGHTS.cosines;
  return { unrelated, related: unrelated + usual.related - usual.unrelated };
}

/** Returns the first vector of each text; undefined for a text without one. */
async function embedAll(
  embedder: Embedder,
  texts: readonly string[],
  purpose: 'query' | 'memory',
): Promise<(Float32Array | undefined)[]> {
  const vectors: (Float32Array | undefined)[] = [];
  for (let from = 0; from < texts.length; from += embedder.maxBatchSize) {
    const batch = await embedder.embed(texts.slice(from, from + embedder.maxBatchSize), purpose);
    vectors.push(...batch.map(({ vectors: [first] }) => first));
  }
  return vectors;
}

function dot(one: Float32Array | undefined, other: Float32Array | undefined): number | undefined {
  return one && other && one.reduce((sum, value, i) => sum + value * (other[i] as number), 0);
}

/** Returns the mean of the known values; NaN if there is none. */
function getMean(values: readonly (number | undefined)[]): number {
  const known = values.filter((value) => value !== undefined);
  return known.reduce((sum, value) => sum + value, 0) / known.length;
}
