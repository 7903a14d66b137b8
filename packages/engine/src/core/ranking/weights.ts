/**
 * The constants of recall ranking, measured by us: nDCG@10 over questions to LoCoMo conversations, BEAM chats, QMSum
 * meetings and SciFact abstracts, with all-MiniLM-L6-v2 vectors. docs/decisions/0005-ranking.md has the figures.
 */
export const WEIGHTS = {
  /** What each piece of evidence adds to the sum that a score is made of; see `Evidence`. */
  evidence: {
    words: 1,
    meaning: 0.5,
    neighbour: 0.3,
    passage: 0.5,
    session: 0.4,
    reply: 0.5,
    question: -0.15,
    brevity: -0.1,
  },
  /** BM25 (Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework"). */
  bm25: {
    /** How slowly repetitions of a word saturate. */
    k1: 0.7,
    /** How much of a text's length beyond the pivot divides its frequencies, from 0 to 1. */
    b: 0.7,
    /** Words in a text that is neither long nor short. Fixed, where BM25 takes the average of the collection. */
    pivotLength: 30,
    /** Memories in a store that is neither large nor small; dampens how the size of a store moves its scores. */
    pivotMemories: 700,
    /** Added to the number of memories that hold a word: below it, chance decides how many do. BM25 has .5. */
    frequencyOffset: 3,
  },
  /** What a word of the query that names a speaker matches, where the speaker says the memory or it only names them. */
  speaker: { speaks: 0.75, named: 0.15 },
  meaning: {
    /** Cosine that a memory without vectors is taken to have: the mean of what a search admits. */
    unknown: 0.3,
    /** Taken off the best of n cosines for each ln(n), since the best of many is high by chance. */
    perPart: 0.045,
  },
  /** Words beyond which a question no longer counts as one that asks for a reply, and a text as one that asks. */
  reply: { longestQuestion: 40, longAnswer: 30 },
  question: { longest: 25 },
  /** Words below which a text leans on what stands around it. */
  brevity: { below: 12 },
  /** The score is .5 where the sum is `even`, and rises by a quarter of `slope` for each 1 there. */
  calibration: { even: 1.35, slope: 4 },
} as const;
