/**
 * The constants of recall ranking, measured by us: nDCG@10 over questions to LoCoMo conversations, BEAM chats, QMSum
 * meetings, SciFact abstracts and notes, with all-MiniLM-L6-v2 vectors. docs/decisions/0005-ranking.md and
 * 0029-late-interaction.md have the figures.
 */
export const WEIGHTS = {
  /** What each piece of evidence adds to the sum that a score is made of; see `Evidence`. */
  evidence: {
    words: 1,
    meaning: 0.8,
    tokens: 0.65,
    neighbour: 0.2,
    passage: 0.5,
    session: 0.5,
    reply: 0.5,
    date: 0.2,
    wish: 0.8,
    question: -0.15,
    brevity: -0.1,
    length: -0.15,
    age: -0.08,
    repeat: -1,
    /** Set, not measured: so little that it orders what is nearly equal and buries no answer (.027 of a score at most). */
    retention: 0.07,
    /* The next two are the same for all that is found: they order nothing, and tell one question's scores from another's. */
    crowd: -0.5,
    missing: -2,
  },
  /** BM25 (Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework"). */
  bm25: {
    /** How slowly repetitions of a word saturate. */
    k1: 0.5,
    /** How much of a text's length beyond the pivot divides its frequencies, from 0 to 1. */
    b: 0.85,
    /** Words in a text that is neither long nor short. Fixed, where BM25 takes the average of the collection. */
    pivotLength: 40,
    /** Words beyond which a text counts as no longer: it may answer by one of its parts. */
    longest: 150,
    /** Memories in a store that is neither large nor small; dampens how the size of a store moves its scores. */
    pivotMemories: 2000,
    /** Added to the number of memories that hold a word: below it, chance decides how many do. BM25 has .5. */
    frequencyOffset: 3,
    /** How much the words of a query tell that asks neither for little nor for much, as the sum of their weights. */
    pivotInformation: 20,
  },
  /**
   * In which part of short notes an English word is expected that is the nth most frequent: most / (1 + n / half), after
   * Zipf's law as Mandelbrot (1953) has it.
   */
  everyday: { most: 0.07, half: 100 },
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
  /** Words from which on a text is long, and from which on it is no longer. */
  length: { above: 100, most: 500 },
  /** Which of the best counts as one of the crowd, by rank, and how relevant it is taken to be at least. */
  crowd: { rank: 20, least: 0.6 },
  /**
   * As how much of each counts where a question asks for advice: it speaks of what is wanted, and the memory of somebody
   * who wants it, so that they share a subject and few words.
   */
  advice: { words: 0.5, meaning: 2, tokens: 0 },
  /** As many times the part of the pool that says what somebody wants, and no wish counts any more. */
  wish: { rare: 8 },
  /**
   * The score is .5 where the sum is `even`, and rises by a quarter of `slope` for each 1 there. Fitted to whether first
   * results are right: LoCoMo as turns and as notes, MADial, BEAM, QMSum and SciFact, each set for as much.
   */
  calibration: { even: 1.78, slope: 1.47 },
  /** Score of a result that is likely to answer the query, at least; measured, see bench/README.md. */
  relevantScore: 0.25,
} as const;
