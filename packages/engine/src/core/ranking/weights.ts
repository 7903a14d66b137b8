/**
 * The constants of recall ranking, measured by us: nDCG@10 over questions to LoCoMo conversations, BEAM chats, QMSum
 * meetings and SciFact abstracts, with all-MiniLM-L6-v2 vectors. docs/decisions/0005-ranking.md has the figures.
 */
export const WEIGHTS = {
  /** BM25 (Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework"). */
  bm25: {
    /** How slowly repetitions of a term saturate. */
    k1: 0.9,
    /** How much of a text's length beyond the pivot divides its frequencies, from 0 to 1. */
    b: 0.6,
    /** Terms in a text that is neither long nor short. Fixed, where BM25 takes the average of the collection. */
    pivotLength: 30,
    /** Memories in a store that is neither large nor small; dampens how the size of a store moves its scores. */
    pivotMemories: 700,
    /** Added to the number of memories that hold a term: below it, chance decides how many do. BM25 has .5. */
    frequencyOffset: 3,
  },
  /** Of the cosine; of words it is 1. */
  cosine: 0.4,
  /** Cosine that a memory without vectors is taken to have: the mean of what a search admits. */
  unknownCosine: 0.3,
  /** Of the better neighbour in the session. */
  neighbour: 0.3,
  /** Of the best memory of the session. */
  session: 0.4,
  /** Texts shorter than `below` terms lose `weight * ln(below / (1 + length))`: they lean on what stands around them. */
  brevity: { weight: 0.05, below: 12 },
} as const;
