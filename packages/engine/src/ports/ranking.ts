/* Types of ranking. Core implements ranking; storage calls the implementation where the candidates are in memory. */

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
  /** Match between the words of the memory and of the query. Synonyms of query words are weak matches. */
  words: number;
  /** Similarity of the memory's vector to the vector of the query. */
  meaning: number;
  /**
   * How much more similar than usual the memory's tokens are to the query's tokens; 0 if the model provides no token
   * states.
   */
  tokens: number;
  /** Relevance of the better of the previous and the next memory in the same session. */
  neighbour: number;
  /** Relevance of the memory combined with the candidates up to four positions before and after it in the session. */
  passage: number;
  /** Relevance of all candidates of the memory's session together. Equals `passage` if the memory has no session. */
  session: number;
  /**
   * Relevance of the question that another speaker asked just before this memory. Decreases with the length of question
   * and reply.
   */
  reply: number;
  /**
   * 1 if the memory was created in the period that the query names or in the week after; 0.5 if it was created in the
   * period only according to another time zone; else 0.
   */
  date: number;
  /**
   * Relevance of a memory that states a lasting instruction or, if the query asks for advice, a preference. 0 if the
   * query asks about the past. Decreases with the share of such memories in the pool, to 0 at about one eighth.
   */
  wish: number;
  /**
   * For a memory that ends with a question: decreases with the length of the memory, from 1 to 0 at 25 content words.
   * Else 0.
   */
  question: number;
  /** ln(12 / (words + 1)) for a text of at most eleven content words, else 0. */
  brevity: number;
  /** ln((words + 1) / 100) for a text of at least a hundred content words, else 0. */
  length: number;
  /** Age: ln(1 + years), in whole days. */
  age: number;
  /** 1 if a better result, or a newer result with the same score, has the same text; else 0. */
  repeat: number;
  /** Retention from 0 to 1, rounded to a thousandth, so that one more use of a new memory changes no score. */
  retention: number;
  /**
   * Total evidence for the twentieth best candidate, at least 0.6. The same for all results. If many memories match a
   * question about as well as the first, each is less likely to be the answer.
   */
  crowd: number;
  /**
   * Fraction, from 0 to 1, of the query's total word weight that belongs to names and numbers that occur in no memory
   * and are not the speaker of a candidate. The same for all results.
   */
  missing: number;
}

/** The score of a memory and its evidence. */
export interface Ranked {
  /** From 0 to 1, rounded to a hundred-thousandth. Computed from the evidence. */
  score: number;
  /**
   * Evidence of the memory itself or, if `isInherited`, of the memory whose score this memory has: a memory that it
   * supersedes, is superseded by, or was distilled from.
   */
  evidence: Evidence;
  isInherited: boolean;
}
