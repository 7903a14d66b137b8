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
