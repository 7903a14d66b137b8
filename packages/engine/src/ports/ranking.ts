/* Types of ranking. Core implements it; storage calls it where the candidates are in memory. */

/** A period that a query asks about, such as a day, a week or a year, in the time zone of the query. */
export interface QueryPeriod {
  /** Milliseconds since 1970. `until` is exclusive. */
  from: number;
  until: number;
  /**
   * Start of the period in the earliest time zone on Earth and its end in the latest, since the author of a memory may
   * be in another time zone than the author of the query.
   */
  earliest: number;
  latest: number;
  /** The part of the query that names the period. */
  text: string;
}

/** Properties of a query that ranking uses besides its words and its vector. */
export interface QueryIntent {
  /** The period that the query asks about, if it names exactly one. */
  date?: QueryPeriod | undefined;
  /** True for a question about the past. Statements answer such a question; wishes for the future do not. */
  looksBack?: boolean;
  /** True for a request for advice. The answer depends on preferences. */
  asksAdvice?: boolean;
}

/** The number of results, the minimum score from 0 to 1, and the properties of the query. */
export interface Ranking {
  limit: number;
  minScore?: number | undefined;
  intent?: QueryIntent | undefined;
}

/**
 * Evidence for or against a memory as a result, each from 0 to about 2.5. If the query asks for advice, `words` counts
 * half, `meaning` double, and `tokens` not at all.
 */
export interface Evidence {
  /** Match of the memory's own words. Synonyms of query words count a little. */
  words: number;
  /** Similarity of the memory's own vector to the query's. */
  meaning: number;
  /** How much closer the memory's tokens are to the query's than usual; 0 if the model provides no token states. */
  tokens: number;
  /** Relevance of the better of the previous and the next memory in the same session. */
  neighbour: number;
  /** Relevance of the memory together with the candidates around it, up to four places away in the session. */
  passage: number;
  /** Relevance of all candidates of the memory's session together. Equals `passage` if the memory has no session. */
  session: number;
  /**
   * Relevance of the question that another speaker asked just before this memory. Decreases with the length of question
   * and reply.
   */
  reply: number;
  /**
   * 1 if the memory is of the period that the query names or of the week after, 0.5 if it is so only in another time
   * zone.
   */
  date: number;
  /**
   * Relevance of a memory that states a wish for the future, if the query is one that the wish governs. Decreases with
   * the share of candidates that are such wishes, to 0 at one eighth.
   */
  wish: number;
  /** Set if the memory itself is a question. Decreases with its length. */
  question: number;
  /** ln(12 / (words + 1)) for a text of at most eleven words that count, else 0. */
  brevity: number;
  /** ln((words + 1) / 100) for a text of at least a hundred words that count, else 0. */
  length: number;
  /** Age: ln(1 + years), in whole days. */
  age: number;
  /** 1 if a better result, or a newer one with the same score, has the same text, else 0. */
  repeat: number;
  /** Retention from 0 to 1, rounded to a thousandth, so that one more use of a new memory changes no score. */
  retention: number;
  /**
   * Total evidence for the twentieth best candidate, at least 0.6. The same for all results. If many memories match a
   * question about as well as the first, each is less likely to be the answer.
   */
  crowd: number;
  /** Share of the query's weight in names and numbers that no memory contains. The same for all results. */
  missing: number;
}

/** The score of a memory and its evidence. */
export interface Ranked {
  /** From 0 to 1, rounded to a hundred-thousandth. Computed from the evidence. */
  score: number;
  /**
   * The memory's own evidence, or that of a better match which it supersedes, of a match by which it is superseded, or
   * of one from which it was distilled.
   */
  evidence: Evidence;
  isInherited: boolean;
}
