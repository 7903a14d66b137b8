/* How what was found for a query is ranked; core says how, and storage has it done where what was found is at hand. */

/** A time that a query asks about, such as a day, a week or a year, in the time zone of the query. */
export interface AskedDate {
  /** In milliseconds since 1970; `until` is beyond it. */
  from: number;
  until: number;
  /** From when that day begins anywhere on Earth until it is over everywhere: whoever stored a memory may be elsewhere. */
  earliest: number;
  latest: number;
  /** The part of the query that names it. */
  text: string;
}

/** What ranking knows of a query besides its words and its vector. */
export interface QueryIntent {
  /** The date that it asks about, if it names just one. */
  date?: AskedDate | undefined;
  /** Whether it asks what was, which is answered by what was said and not by what somebody wants from now on. */
  looksBack?: boolean;
  /** Whether it asks for advice, which hangs on what somebody likes better. */
  asksAdvice?: boolean;
}

/** How many of the best to answer, the score from 0 to 1 that they need, and what ranking knows of the query. */
export interface Ranking {
  limit: number;
  minScore?: number | undefined;
  intent?: QueryIntent | undefined;
}

/**
 * What speaks for a memory as an answer, or against it, each from 0 to about 2.5. Where advice is asked for, words count half,
 * meaning twice, and tokens not at all.
 */
export interface Evidence {
  /** How well its own words match; synonyms of what was asked count a little. */
  words: number;
  /** How near its own meaning is. */
  meaning: number;
  /** How much nearer its tokens are to those of the query than is usual; 0 where the model tells none. */
  tokens: number;
  /** How relevant the better of the memories before and after it in its session is. */
  neighbour: number;
  /** How relevant it and what was found around it, up to four places away, are together. */
  passage: number;
  /** How relevant all memories of its session that were found are together; where it was given none, as its passage. */
  session: number;
  /** How relevant the question is that another asked just before it; less the longer question and reply are. */
  reply: number;
  /** 1 where it is of the date that the query names, or of the week after; .5 where it is so in another time zone. */
  date: number;
  /**
   * How relevant it is, where it says what somebody wants from now on and the query is one that this governs; less the more
   * of what was found does, and 0 from an eighth on.
   */
  wish: number;
  /** That it asks itself; less the longer it is. */
  question: number;
  /** That it is short: ln(12 / (words + 1)) of a text of up to eleven words that count, else 0. */
  brevity: number;
  /** That it is long: ln((words + 1) / 100) of a text of a hundred words that count or more, else 0. */
  length: number;
  /** That it was created long ago: ln(1 + years), by whole days. */
  age: number;
  /** 1 where a better answer, or a newer one that is as good, has the same text, else 0. */
  repeat: number;
  /** How far it is retained, from 0 to 1, to a thousandth: a use of what is new anyway moves no score. */
  retention: number;
  /**
   * How much speaks for the twentieth best of what was found, at least .6; the same for all. Where many memories speak to a
   * question about as well as the first, it is less likely that this is an answer.
   */
  crowd: number;
  /** Which part of the query its names and numbers make that no memory holds; the same for all. */
  missing: number;
}

/** What a memory's rank rests on. */
export interface Ranked {
  /** From 0 to 1, to a hundred-thousandth: that of the evidence. */
  score: number;
  /** Its own or, where it corrects a better match, is corrected by a worse one or was distilled from one, that one's. */
  evidence: Evidence;
  isOfAnother: boolean;
}
