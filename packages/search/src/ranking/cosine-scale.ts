import { WEIGHTS } from './weights.ts';

/**
 * The range of a model's cosines: the mean cosine of sentences about unlike things, and the mean cosine of paraphrases,
 * from -1 to 1. Models differ in it: unlike English sentences have .05 with all-MiniLM-L6-v2, and .66 with e5-small-v2.
 */
export interface CosineScale {
  unrelated: number;
  related: number;
}

const SCRIPTS = {
  cyrillic: /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Georgian}]/gu,
  arabic:
    /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Tamil}\p{Script=Thai}]/gu,
  han: /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu,
};

/** A group of scripts within which a model's cosines have one range. A model that knows one often knows no other. */
export type ScriptGroup = keyof typeof SCRIPTS | 'latin';

/** The range of a model in each group of scripts. A group is absent if the model has no vectors for it. */
export type CosineScales = Partial<Record<ScriptGroup, CosineScale>>;

/** Returns the group of most letters of a text; `latin` for a text without letters of the other groups. */
export function getScriptGroup(text: string): ScriptGroup {
  let most: ScriptGroup = 'latin';
  let mostLetters = text.match(/\p{Script=Latin}/gu)?.length ?? 0;
  for (const [group, letters] of Object.entries(SCRIPTS)) {
    const count = text.match(letters)?.length ?? 0;
    // A Chinese character stands for a whole word, so that names in Latin letters have more letters.
    if (count > 0 && count * (group === 'han' ? LETTERS_PER_HAN : 1) > mostLetters) {
      most = group as ScriptGroup;
      mostLetters = count;
    }
  }
  return most;
}

const LETTERS_PER_HAN = 3;

const UNKNOWN: CosineScale = { unrelated: Number.NaN, related: Number.NaN };

/** Returns the range for a query; one that makes each cosine unknown if the model has no vectors in its script. */
export function getCosineScale(scales: CosineScales, query: string): CosineScale {
  return scales[getScriptGroup(query)] ?? UNKNOWN;
}

/**
 * Converts the cosine of a model to the cosine that the bundled model would have, to which the weights of ranking and
 * the thresholds of consolidation are fitted. The function is linear up to the mean of paraphrases, and maps both means
 * of the model to those of the bundled model; above, it is linear up to 1, so that equal texts have 1 with any model.
 * Returns the cosine itself without a scale. NaN, for an unknown cosine, stays NaN.
 */
export function toUsualCosine(cosine: number, scale: CosineScale | undefined): number {
  if (!scale) return cosine;
  const { unrelated, related } = WEIGHTS.cosines;
  if (cosine > scale.related) return 1 - ((1 - cosine) * (1 - related)) / (1 - scale.related);
  return unrelated + ((cosine - scale.unrelated) * (related - unrelated)) / (scale.related - scale.unrelated);
}
