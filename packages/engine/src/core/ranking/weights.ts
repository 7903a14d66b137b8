/**
 * The constants of recall ranking, measured by us: nDCG@10 over questions to LoCoMo conversations, BEAM chats, QMSum
 * meetings and SciFact abstracts, with all-MiniLM-L6-v2 vectors. docs/decisions/0005-ranking.md has the figures.
 */
export const WEIGHTS = {
  /** What each piece of evidence adds to the sum that a score is made of; see `Evidence`. */
  evidence: {
    words: 1,
    meaning: 0.5,
    tokens: 0.5,
    neighbour: 0.2,
    passage: 0.5,
    session: 0.5,
    reply: 0.5,
    date: 0.2,
    wish: 0.4,
    question: -0.15,
    brevity: -0.1,
    repeat: -1,
    /** Set, not measured: so little that it orders what is nearly equal and buries no answer (.027 of a score at most). */
    retention: 0.08,
  },
  /** BM25 (Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework"). */
  bm25: {
    /** How slowly repetitions of a word saturate. */
    k1: 0.5,
    /** How much of a text's length beyond the pivot divides its frequencies, from 0 to 1. */
    b: 0.85,
    /** Words in a text that is neither long nor short. Fixed, where BM25 takes the average of the collection. */
    pivotLength: 40,
    /** Memories in a store that is neither large nor small; dampens how the size of a store moves its scores. */
    pivotMemories: 2000,
    /** Added to the number of memories that hold a word: below it, chance decides how many do. BM25 has .5. */
    frequencyOffset: 3,
  },
  /** Synonyms, which count as fewer occurrences of the word that they stand for; see query-terms.ts beside this. */
  synonym: {
    /** What one of the closest counts for, where it is no commoner than that word. */
    most: 0.3,
    /** What one counts for at least; others would move no order, and are left out. */
    least: 0.02,
  },
  /** How well a word of the query that names the speaker of a memory matches it at least, of 1. */
  speaker: 0.9,
  /** How well the words that name a date match a memory of that date at least, of 1. */
  dated: 0.5,
  /** Cosine that a memory without vectors is taken to have: the mean of what a search admits. */
  unknownCosine: 0.3,
  /** Nearness that the tokens of a memory have to a query's that it has nothing to do with: about the mean. */
  usualNearness: 0.3,
  /** Words beyond which a question asks for no reply, and a reply speaks for itself. */
  reply: { longestQuestion: 40, longReply: 30 },
  /** Words beyond which a text that ends in a question is more than that. */
  question: { longest: 25 },
  /** Words below which a text leans on what stands around it. */
  brevity: { below: 12 },
  /**
   * The score is .5 where the sum is `even`, and rises by a quarter of `slope` for each 1 there. Measured as 1.65 with
   * nothing added for retention, which new memories have whole.
   */
  calibration: { even: 1.73, slope: 1.36 },
  /** Minimum score of a result that is likely to answer the query; measured. */
  relevantScore: 0.5,
} as const;
