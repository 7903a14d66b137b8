import { type QueryWords, wordWeights } from './bm25.ts';
import { WEIGHTS } from './weights.ts';

/** A word that means about the same as another, or is said of the same things. */
export interface Synonym {
  /** As an index has it; see `Word.terms` in core/text. */
  term: string;
  /** How near the two are by meaning, from 0 to 1. */
  closeness: number;
}

/** Words that may stand for others. */
export interface Thesaurus {
  /** The synonyms of a term, the closest first; none of what it does not know. */
  synonymsOf(term: string): readonly Synonym[];
}

/**
 * Most synonyms that memories are counted for, the closest; and most that take part in a search, those that count most: no
 * more than an index has room for among the words of a question.
 */
const MOST_COUNTED = 512;
const MOST_WEIGHED = 128;

/** A synonym of a word of a query, with that word's place among the words. */
export interface WordSynonym extends Synonym {
  word: number;
}

/** The synonyms of a query's words that may count, the closest first; each word is any of some terms, English first. */
export function synonymsOf(thesaurus: Thesaurus, words: readonly (readonly string[])[]): WordSynonym[] {
  return words
    .flatMap(([asked = ''], word) =>
      thesaurus.synonymsOf(asked).map(({ term, closeness }): WordSynonym => ({ word, term, closeness })),
    )
    .filter(({ closeness }) => WEIGHTS.synonym.most * closeness >= WEIGHTS.synonym.least)
    .sort((a, b) => b.closeness - a.closeness)
    .slice(0, MOST_COUNTED);
}

/** A synonym that memories hold, and as what part of an occurrence of its word each of its own counts, from 0 to 1. */
export interface WeighedSynonym {
  word: number;
  term: string;
  weight: number;
}

/**
 * What each synonym counts for that any memory holds, the most first: the less the further it is from its word by meaning,
 * and the less the commoner it is than that, since it tells no more than it would as a word of the query.
 *
 * @param held in how many memories each synonym occurs
 */
export function weighed(synonyms: readonly WordSynonym[], held: number[], query: QueryWords): WeighedSynonym[] {
  const ofWords = wordWeights(query);
  const own = wordWeights({ ...query, documentFrequencies: held });
  return synonyms
    .map(({ word, term, closeness }, i) => {
      const telling = Math.min(1, (own[i] as number) / (ofWords[word] as number));
      return { word, term, weight: held[i] === 0 ? 0 : WEIGHTS.synonym.most * closeness * telling };
    })
    .filter(({ weight }) => weight >= WEIGHTS.synonym.least)
    .sort((a, b) => b.weight - a.weight)
    .slice(0, MOST_WEIGHED);
}
