/**
 * The constants of recall ranking, measured by nDCG@10 over questions to LoCoMo conversations, BEAM chats, QMSum
 * meetings, SciFact abstracts and notes, with all-MiniLM-L6-v2 vectors. See docs/decisions/0005-ranking.md and
 * 0029-late-interaction.md.
 */
export const WEIGHTS = {
  /** Weight of each kind of evidence in the sum from which a score is computed; see `Evidence`. */
  evidence: {
    words: 1,
    meaning: 0.8,
    tokens: 0.65,
    rerank: 1,
    neighbor: 0.2,
    passage: 0.5,
    session: 0.5,
    reply: 0.5,
    date: 0.2,
    /**
     * With a tenth of all other evidence, gives scores of .5 or more in the period, a little less than `relevantScore` in
     * its fringe, and less than .1 elsewhere.
     */
    period: 2.1,
    wish: 0.8,
    question: -0.15,
    /** Chosen so that such a memory scores less than `relevantScore` and ranks below statements that are relevant. */
    silent: -5,
    brevity: -0.1,
    length: -0.15,
    age: -0.09,
    repeat: -1,
    /** Chosen, not measured: small enough to order only nearly equal results (at most .026 of a score). */
    retention: 0.07,
    /*
     * `crowd` and `missing` are the same for all results of a query. They do not change the order of the results, but
     * make scores of different queries comparable.
     */
    crowd: -0.5,
    missing: -2,
  },
  /** BM25 (Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework"). */
  bm25: {
    /** Saturation of repetitions of a word; a lower value saturates after fewer repetitions. */
    k1: 0.5,
    /** Strength of the normalization by text length, from 0 to 1. */
    b: 0.85,
    /** Words in a text of medium length. Fixed, unlike in BM25, which uses the average of the collection. */
    pivotLength: 40,
    /** Maximum length of a text in the normalization, in words: one part of a longer text may be the answer. */
    longest: 150,
    /** Memories in a store of medium size. Reduces the influence of the store's size on scores. */
    pivotMemories: 2000,
    /** Added to the number of memories with a word, since small numbers are random. BM25 uses .5. */
    frequencyOffset: 3,
    /** Sum of the word weights of a typical query. */
    pivotInformation: 20,
  },
  /**
   * Expected share of short notes that contain an English word with n more frequent words: max / (1 + n / half), after
   * Zipf's law in Mandelbrot's form (1953). `part` is the share assumed for a part of a word, which is less specific
   * than its word.
   */
  everyday: { max: 0.07, half: 100, part: 0.02 },
  /** An occurrence of a synonym is worth a fraction of an occurrence of its word; see query-terms.ts. */
  synonym: {
    /** Maximum weight: of a very close synonym that is not more frequent than its word. */
    max: 0.3,
    /** Minimum weight. Synonyms of a lower weight would not change the order and are left out. */
    min: 0.02,
  },
  /**
   * A query word distinguishes notes no more if at least `minMemories` memories and this share of the store contain it.
   * In a store of less than `minStore` memories, the rule is for names only.
   */
  indistinct: { share: 1 / 3, minMemories: 3, minStore: 30 },
  /**
   * Two notes may be sorted by time (see `placeByTime`) if the logits of their scores differ by at most
   * `slope` · (sameness − `usual`), times `stressed` if the query or the later text has a word for now, before or a
   * change. `words` is the weight of common words in the sameness. `minDistanceMs`: notes of the same hour keep their
   * order. Measured with pairs of older and newer facts, see bench/README.md.
   */
  timeOrder: { slope: 8, usual: 0.4, stressed: 3, words: 0.5, minDistanceMs: 3_600_000 },
  /**
   * Rows among the first `rows` may move to the first places (see `placeStatementsFirst`). Of a nearer row, vector and
   * tokens together are at least `minGain` nearer, and neither is more than `maxLoss` farther. Of a row about the user, the
   * vector is at most `maxLossOfUser` farther. Measured with small stores, see bench/README.md.
   */
  firstPlace: { rows: 4, minGain: 0.17, maxLoss: 0.05, maxLossOfUser: 0.32 },
  /** Factor for the words of a note that contains all words of the query, or their synonyms. */
  wholeMatch: 1.3,
  /** Minimum match of a query word that names the speaker of a memory, as a fraction of the word's share. */
  speaker: 0.9,
  /** Minimum match of a query word of the date with a memory of that date, as a fraction of the word's share. */
  dated: 0.5,
  /** The range of cosines of the bundled model, to which the cosines of other models are converted. */
  cosines: { unrelated: 0.0484, related: 0.8264 },
  /** Factor for `meaning` if no candidate has token states: vectors then also stand for what tokens would show. */
  meaningAlone: 1.4,
  /** Cosine assumed for a memory without vectors: the mean of the candidates. */
  unknownCosine: 0.3,
  /** Factor for all evidence except `period` of a query that consists of a date: it orders the memories of one day. */
  ofDateQuestion: 0.1,
  /** Evidence `period` of a memory in the fringe of such a query. */
  fringe: 0.38,
  /** Nearness of the tokens of unrelated memories to those of a query, approximately the mean. */
  usualNearness: 0.3,
  /**
   * A question of `longestQuestion` words or more expects no reply. The evidence of a reply decreases from `longReply`
   * words on, since a long reply is understandable alone.
   */
  reply: { longestQuestion: 40, longReply: 30 },
  /** Length in words from which a text that ends with a question is considered more than a question. */
  question: { longest: 25 },
  /** Length in words below which a text is considered hard to understand without its context. */
  brevity: { below: 12 },
  /** Length in words above which a text is considered long, and length from which the evidence no longer increases. */
  length: { above: 100, max: 500 },
  /** Rank of the result whose sum of evidence is the evidence `crowd`, and the minimum of `crowd`. */
  crowd: { rank: 20, min: 0.6 },
  /**
   * Factors for questions that ask for advice. The question describes a situation, and the memory a preference, so that
   * they share a topic but few words.
   */
  advice: { words: 0.5, meaning: 2, tokens: 0 },
  /**
   * The evidence of wishes (instructions and preferences) is 0 if the share of wishes in the pool, without one wish,
   * times `rare` is 1 or more.
   */
  wish: { rare: 8 },
  /**
   * The score is .5 at the sum `even`, and its slope there is a quarter of `slope`. Fitted to the relevance of first
   * results, with equal weight for each set: LoCoMo as turns and as notes, MADial, BEAM, QMSum and SciFact.
   */
  calibration: { even: 1.78, slope: 1.47 },
  /** Minimum score of a result that probably answers the query; measured, see bench/README.md. */
  relevantScore: 0.25,
  /** Minimum score of such a result, as a share of the best score. */
  relevantShare: 0.4,
} as const;
