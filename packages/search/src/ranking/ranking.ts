import type { CosineScale } from './cosine-scale.ts';

/* Types of ranking. Core implements ranking; storage calls the implementation where the candidates are in memory. */

/** A period that a query asks about, such as a day, a week or a year, in the time zone of the query. */
export interface QueryPeriod {
  /** Milliseconds since 1970. `until` is exclusive. */
  from: number;
  until: number;
  /**
   * The fringe: start of the period in the earliest time zone on Earth and its end in the latest, since the author of a
   * memory may be in another time zone than the author of the query.
   */
  earliest: number;
  latest: number;
  /** The part of the query that names the period. */
  text: string;
  /** True if the query consists of a date, as in "what did we do on Monday?". The answer is then the period. */
  isWholeQuery?: true;
}

/** Properties of a query that ranking uses besides its words and its vector. */
export interface QueryIntent {
  /** The period that the query asks about, if it names exactly one. */
  date?: QueryPeriod | undefined;
  /** True for a question about the past. Statements answer such a question; wishes for the future do not. */
  looksBack?: boolean;
  /** True if the query asks for what was before, with a word such as "used to" or "previously". */
  asksForBefore?: boolean;
  /** True if the query asks for what holds now, with a word such as "currently" or "latest". */
  asksForNow?: boolean;
  /** True if the query asks something about the user, such as "where do I live?". */
  asksAboutUser?: boolean;
  /** True for a request for advice. The answer depends on preferences. */
  asksAdvice?: boolean;
}

/** The maximum number of results, the minimum score from 0 to 1, and the properties of the query. */
export interface Ranking {
  limit: number;
  minScore?: number | undefined;
  /** Whether to return only results that probably answer the query; see relevance.ts. */
  onlyRelevant?: boolean | undefined;
  intent?: QueryIntent | undefined;
  /** The range of the cosines of the query's model; absent for the bundled model. */
  scale?: CosineScale | undefined;
  /** True if every memory ranks by its own evidence, even above its successors and sources. */
  hasOwnEvidence?: boolean;
}

/**
 * Evidence for or against a memory as a result. If the query asks for advice and does not ask about the past, `words`
 * is halved, `meaning` is doubled, and `tokens` is 0. If the query consists of a date, all evidence except `period` is a
 * tenth, `words` leaves out the words of the date, and `crowd` and `missing` are 0.
 */
export interface Evidence {
  /** Match between the words of the memory and of the query. Synonyms of query words are weak matches. */
  words: number;
  /**
   * Maximum cosine between a part of the memory and the query, from 0 to 1, in the range of the bundled model; 0.3 if
   * the cosine is unknown. Times 1.4 if no candidate has token states.
   */
  meaning: number;
  /**
   * How much more similar than usual the memory's tokens are to the query's tokens; negative if less similar, 0 if the
   * similarity is unknown.
   */
  tokens: number;
  /**
   * Probability from a reranker that the memory answers the query; the mean of the reranked memories if the memory was
   * not reranked, 0 without a reranker.
   */
  rerank: number;
  /**
   * Relevance of the better of the previous and the next memory in the same session. For a memory outside
   * conversations, the value expected of its own relevance: see `getExpectedContext`.
   */
  neighbor: number;
  /**
   * Relevance of the memory combined with search hits (candidates before `Signals.found`) and neighbors of hits, up to
   * four positions before and after the memory in its session. For a memory outside conversations, the value expected of
   * its own relevance: see `getExpectedContext`.
   */
  passage: number;
  /**
   * Relevance of the memory combined with the memories of its session in the pool (see `Signals`). Equals `passage` if
   * the memory has no session, or the pool has no memory of the session.
   */
  session: number;
  /**
   * Relevance of the question that another or an unknown speaker asked just before this memory. Decreases with the
   * length of question and reply.
   */
  reply: number;
  /**
   * 1 if the memory was created in the period that the query names or in the week after; 0.5 if it was created in the
   * period only according to another time zone; else 0.
   */
  date: number;
  /**
   * If the query consists of a date: 1 if the memory was created in the period; 0.5 if it was created in the period
   * only according to another time zone. Else 0.
   */
  period: number;
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
  /**
   * 1 for a short text that states nothing: a question, thanks, or an answer such as "I don't know". Else 0.
   */
  silent: number;
  /** ln(12 / (words + 1)) for a text of at most eleven content words, else 0. */
  brevity: number;
  /** ln((words + 1) / 100) for a text of at least 100 content words, else 0. Constant from 500 words on. */
  length: number;
  /** ln(1 + age in years). The age is rounded down to whole days. */
  age: number;
  /** 1 if a better candidate has the same text, else 0. See `getRepeats` in core for the exceptions. */
  repeat: number;
  /**
   * Retention from 0 to 1, rounded to a thousandth, so that a use of a memory whose retention is almost 1 changes no
   * score.
   */
  retention: number;
  /**
   * Weighted sum of the evidence of the twentieth best search hit (a candidate before `Signals.found`), at least 0.6.
   * The same for all results. If many memories match a question about as well as the first, each is less likely to be
   * the answer.
   */
  crowd: number;
  /**
   * Total share of the query's names and numbers that occur in no memory and name no speaker in the pool. See
   * `getWordShares` in core. The same for all results.
   */
  missing: number;
}

/** The score of a memory and its evidence. */
export interface Ranked {
  /** From 0 to 1, rounded to a hundred-thousandth. Computed from the evidence. */
  score: number;
  /**
   * Evidence of the memory itself or, if `isInherited`, of the memory whose score this memory has: a memory that it
   * supersedes, is superseded by, was distilled from, or whose place it took.
   */
  evidence: Evidence;
  isInherited: boolean;
}
