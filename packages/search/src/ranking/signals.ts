/** Value in a column of rows for a memory that does not exist or has no row. */
export const NO_ROW = -1;

/** Value in the column `sessions` for a memory without a session. */
export const NO_SESSION = -1;

/** Properties of the words of a query, in arrays with one element per word. */
export interface QueryWordKinds {
  /** 1 for "I", "my", "me", "you", "your" and "the user", else 0. */
  persons: Uint8Array;
  /** 1 for a word of the date that the query asks about, else 0. */
  dated: Uint8Array;
  /** 1 for a name, a number or another identifier, else 0. */
  named: Uint8Array;
  /** Expected share, from 0 to 1, of short everyday notes that contain the word. */
  everyday: Float64Array;
}

/**
 * The candidates of a search and their context, in columns: row r of every column describes the same memory. Rows are
 * in this order:
 *
 * | rows | content |
 * |---|---|
 * | 0 to `found` | the best `poolSize` memories by words, and by vector |
 * | `found` to `pool` | memories that supersede rows before `found`; neighbors of the best rows that match the query |
 * | `pool` to `candidateCount` | sources of semantic memories of the pool; the tail, with its successors and sources |
 * | from `candidateCount` on | context: neighbors of candidates, and one or two memories between two neighbors |
 *
 * Rows before `candidateCount` are the candidates: they match the filter and may become results.
 */
export interface Signals extends QueryWordKinds {
  /**
   * Number of memories of the namespace that recall searches. Excludes semantic memories, since their content is that
   * of their sources.
   */
  memoryCount: number;
  /** Time of the search, in milliseconds since 1970. */
  now: number;
  /** For each query word, the number of memories, out of `memoryCount`, that contain the word. */
  documentFrequencies: number[];
  found: number;
  pool: number;
  candidateCount: number;
  ordinals: Float64Array;
  createdAts: Float64Array;
  /** The time at which each memory begins to hold. */
  begins: Float64Array;
  /** The time at which each memory ends to hold, without its successors; infinite for most. */
  ends: Float64Array;
  /** Number of content words, which are all words except stop words. */
  lengths: Uint32Array;
  /** Term frequencies: row r, word w is at `r * documentFrequencies.length + w`. */
  frequencies: Uint16Array;
  /**
   * Synonyms of the query's words that memories contain, at most 128. `word` is the index of the query word; an
   * occurrence of the synonym counts as `weight` occurrences of the word. Synonyms alone do not make a memory a
   * candidate.
   */
  synonyms: { word: number; weight: number }[];
  /** Synonym frequencies: row r, synonym s is at `r * synonyms.length + s`. */
  synonymFrequencies: Uint16Array;
  /** 1 if the word names the row's speaker, in the layout of `frequencies`. */
  speaks: Uint8Array;
  /**
   * Maximum cosine between a part of the memory and the query. NaN if the query or the memory has no vector yet; 0 if
   * the model has no vector for the memory, for example because of the language of the text.
   */
  cosines: Float32Array;
  /**
   * For each candidate, the similarity of its tokens to the tokens of the query, from 0 to 1: the maximum over the
   * parts of the memory. NaN if the query or the memory has no token states.
   */
  nearnesses: Float32Array;
  /**
   * For each candidate, the probability from a reranker that the memory answers the query, from 0 to 1; NaN if the
   * memory was not reranked. Absent without a reranker.
   */
  reranks?: Float64Array;
  /**
   * For each candidate, a number that is equal for equal texts. Texts that differ only in outer white space or Unicode
   * normalization may have the same number.
   */
  texts: Int32Array;
  /** For each candidate, its retention from 0 to 1. See `getRetention` in core. */
  retentions: Float32Array;
  /** Equal numbers mean the same session; NO_SESSION if the memory has no session. */
  sessions: Int32Array;
  /** Equal numbers mean the same speaker; NO_SPEAKER if no speaker is named. See `Traits` of text/. */
  speakers: Uint32Array;
  /** Bits of `MARKS` of text/. */
  marks: Uint16Array;
  /**
   * Rows of the previous and the next memory in the same session; -1 if that memory does not exist or has no row.
   * Memories without a session are neighbors only if they name their speaker.
   */
  previous: Int32Array;
  next: Int32Array;
  /** Row of the memory that supersedes the row's memory; -1 if no candidate does. */
  supersededBy: Int32Array;
  /** Row of the semantic memory that was distilled from the row's memory; -1 if no candidate was. */
  distilledInto: Int32Array;
  /** Duration of the search by stage, in ms. */
  stagesMs: { words: number; vectors: number; fuse: number };
}

/** Returns true if a row contains a word of the query, or the word names the row's speaker. */
export function containsWord(
  { documentFrequencies, frequencies, speaks }: Signals,
  row: number,
  word: number,
): boolean {
  const at = row * documentFrequencies.length + word;
  return (frequencies[at] as number) > 0 || speaks[at] === 1;
}

/** Returns true if a row has all names and numbers of the query that another row has. */
export function hasNamesOfOther(signals: Signals, row: number, other: number): boolean {
  return signals.named.every(
    (is, word) => is !== 1 || !containsWord(signals, other, word) || containsWord(signals, row, word),
  );
}
