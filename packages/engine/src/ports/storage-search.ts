import type { QueryPeriod, Ranked, Ranking } from './ranking.ts';
import type { MemoryFilter, RecalledMemory } from './storage-memories.ts';

/** The vector of a query and its model. */
export interface QueryVector {
  modelId: string;
  values: Float32Array;
  /** See `Embedding.states`. */
  states?: Int8Array;
}

/** A search. Without `vector`, it matches words alone. */
export interface SearchRequest {
  namespace: string;
  text: string;
  vector?: QueryVector | undefined;
  filter: MemoryFilter;
  now: number;
  /** The period that the text asks about. Memories of that period match the words that name it. */
  date?: QueryPeriod | undefined;
  /** Maximum number of candidates by words, and by vector. Scores depend on this pool alone. */
  poolSize: number;
  /** Maximum number of further candidates of each, for results beyond the pool. */
  tailSize: number;
  /**
   * True: the search sees every write that was completed before it. Otherwise writes of other processes may become
   * visible some seconds later.
   */
  isUpToDate?: boolean;
}

/** Values in columns for "no row", "no session" and "no named speaker". */
export const NO_ROW = -1;
export const NO_SESSION = -1;

export const NO_SPEAKER = 0;

/** Kinds of the words of a query. */
export interface QueryWordKinds {
  /** For each query word, 1 if it is "I", "my", "me", "you", "your" or "the user". */
  persons: Uint8Array;
  /** For each query word, 1 if it is part of the date that the query asks about. */
  dated: Uint8Array;
  /** For each query word, 1 if it is a name, a number or another identifier. */
  named: Uint8Array;
  /** For each query word, the expected share of short everyday notes that contain it. */
  everyday: Float64Array;
}

/**
 * The candidates of a search, in columns: row r of every column describes the same memory. Rows are in this order:
 *
 * | rows | content |
 * |---|---|
 * | 0 to `found` | the best `poolSize` by words, and by vector |
 * | `found` to `pool` | memories that supersede these, and neighbors of these that match the query themselves |
 * | `pool` to `admitted` | sources of semantic memories among these; the tail with its successors and sources |
 * | from `admitted` on | context: neighbors of all these, and the one or two memories that lie between two of these |
 *
 * The first three groups have passed the filter and may be results.
 */
export interface Signals extends QueryWordKinds {
  /** Number of live memories of the namespace without semantic ones, whose content is counted in their sources. */
  memoryCount: number;
  /** Time of the search, in milliseconds since 1970. */
  now: number;
  /** For each distinct query word that counts, the number of these memories that contain it, or 0. */
  documentFrequencies: number[];
  found: number;
  pool: number;
  admitted: number;
  ordinals: Float64Array;
  createdAts: Float64Array;
  /** Number of words that count. */
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
   * Cosine to the query's vector, the best over the parts of a memory. NaN if the query or the memory has no vector
   * yet; 0 if the model has no vector for the memory, since it does not support its language.
   */
  cosines: Float32Array;
  /**
   * For each admitted row, the similarity of its tokens to the query's from 0 to 1, the best over the parts of a
   * memory. NaN if the query or the memory has no token states.
   */
  nearnesses: Float32Array;
  /**
   * For each admitted row, a number that is equal for equal texts. Texts that differ only in outer white space or
   * Unicode normalization may count as equal.
   */
  texts: Int32Array;
  /** For each admitted row, its retention from 0 to 1. See `getRetention` in core. */
  retentions: Float32Array;
  /** Equal numbers mean the same session; NO_SESSION if the memory has none. */
  sessions: Int32Array;
  /** Equal numbers mean the same speaker; NO_SPEAKER if none is named. See `Traits` in core/text. */
  speakers: Uint32Array;
  /** Bits of `MARKS` in core/text. */
  marks: Uint16Array;
  /**
   * Row of the previous and the next memory in the same session; -1 if there is none among the rows. Memories without a
   * session are neighbors only if they name their speaker.
   */
  previous: Int32Array;
  next: Int32Array;
  /** Row of the memory that supersedes this one, if it is admitted; otherwise -1. */
  supersededBy: Int32Array;
  /**
   * Row of the semantic memory that was distilled from this one, if it is admitted; otherwise -1. Such a row is not
   * superseded by any other.
   */
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
export interface Answered {
  memory: RecalledMemory;
  score: number;
  ranked?: Ranked;
}

/** The results, best first. `truncated`: further results did not fit into `maxBytes`. */
export interface Answer {
  answers: Answered[];
  truncated: boolean;
  /** Duration by stage, in ms. */
  stagesMs: Signals['stagesMs'] & { read: number };
}

/** Searches memories. */
export interface SearchStorage {
  /** Maximum number of vector dimensions that the storage can search. Models with more cannot be used. */
  readonly maxDimensions: number;
  search(request: SearchRequest): Promise<Signals>;
  /** Searches, ranks the candidates as `rank` in core does, and reads the texts of the best: a recall in one call. */
  answer(request: RankedSearchRequest): Promise<Answer>;
}
