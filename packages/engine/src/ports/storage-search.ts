import type { QueryPeriod, Ranked, Ranking } from './ranking.ts';
import type { MemoryFilter, RecalledMemory } from './storage-memories.ts';

/** The vector of a query and its model. */
export interface QueryVector {
  modelId: string;
  values: Float32Array;
  /** See `Embedding.states`. */
  states?: Int8Array;
}

/** A search request. Without `vector`, the search uses words only. */
export interface SearchRequest {
  namespace: string;
  text: string;
  vector?: QueryVector | undefined;
  filter: MemoryFilter;
  now: number;
  /**
   * The period that the text asks about. A memory created in the period matches the words of the text that name the
   * period.
   */
  date?: QueryPeriod | undefined;
  /**
   * Maximum number of candidates that the word search and the vector search each add to the pool. Scores depend only on
   * the pool; see `Signals`.
   */
  poolSize: number;
  /**
   * Maximum number of further candidates, the tail, that the word search and the vector search each add. The tail
   * provides results beyond the pool and does not affect scores.
   */
  tailSize: number;
  /**
   * If true, the search sees every write that completed before the call. Otherwise, writes of other processes may
   * become visible later.
   */
  isUpToDate?: boolean;
}

/** Value in a column of rows for a memory that does not exist or has no row. */
export const NO_ROW = -1;

/** Value in the column `sessions` for a memory without a session. */
export const NO_SESSION = -1;

/** Value in the column `speakers` for a memory that names no speaker. */
export const NO_SPEAKER = 0;

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
   * For each candidate, a number that is equal for equal texts. Texts that differ only in outer white space or Unicode
   * normalization may have the same number.
   */
  texts: Int32Array;
  /** For each candidate, its retention from 0 to 1. See `getRetention` in core. */
  retentions: Float32Array;
  /** Equal numbers mean the same session; NO_SESSION if the memory has no session. */
  sessions: Int32Array;
  /** Equal numbers mean the same speaker; NO_SPEAKER if no speaker is named. See `Traits` in core/text. */
  speakers: Uint32Array;
  /** Bits of `MARKS` in core/text. */
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

/** A search with ranking. `maxBytes` limits the JSON of the results. */
export interface RankedSearchRequest extends SearchRequest {
  ranking: Ranking;
  /** Whether each result includes its evidence. */
  explain?: boolean | undefined;
  maxBytes: number;
}

/** A result: a memory with its score from 0 to 1, and `ranked` if the request has `explain`. */
export interface SearchResult {
  memory: RecalledMemory;
  score: number;
  ranked?: Ranked;
}

/** The results, best first. `truncated`: further results did not fit into `maxBytes`. */
export interface SearchResults {
  results: SearchResult[];
  truncated: boolean;
  /** Duration by stage, in ms. */
  stagesMs: Signals['stagesMs'] & { read: number };
}

export interface SearchStorage {
  /** Maximum number of vector dimensions that the storage can search. Models with more cannot be used. */
  readonly maxDimensions: number;
  search(request: SearchRequest): Promise<Signals>;
  /**
   * Searches, ranks the candidates as `rank` in core does, and reads the texts of the best candidates: a recall in one
   * call.
   */
  searchAndRank(request: RankedSearchRequest): Promise<SearchResults>;
}
