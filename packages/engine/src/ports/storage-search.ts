import type { AskedDate, Ranked, Ranking } from './ranking.ts';
import type { MemoryFilter, RecalledMemory } from './storage-memories.ts';

/** The vector of a query, and the model that made it. */
export interface QueryVector {
  modelId: string;
  values: Float32Array;
  /** See `Embedding.states`. */
  states?: Int8Array;
}

/** What a search is for. `vector` is absent where recall goes by words alone. */
export interface SearchRequest {
  namespace: string;
  text: string;
  vector?: QueryVector | undefined;
  filter: MemoryFilter;
  now: number;
  /** The date that the text asks about: what is of that date matches the words that name it. */
  date?: AskedDate | undefined;
  /** How many memories words and vectors may each admit; scores rest on this pool alone. */
  poolSize: number;
  /** How many memories each may admit beyond that, for answers that are longer than the pool. */
  tailSize: number;
  /**
   * True: the search sees every write that was answered before it. Otherwise writes of other processes may take some
   * seconds to be seen.
   */
  isUpToDate?: boolean;
}

/** Stand in columns for no row, no session, and nobody who is named. */
export const NO_ROW = -1;
export const NO_SESSION = -1;

export const NO_SPEAKER = 0;

/** Of what kinds the words of a query are. */
export interface QueryWordKinds {
  /** For each word of the query, 1 where it is "I", "my", "me", "you", "your" or "the user". */
  persons: Uint8Array;
  /** For each word of the query, 1 where it is one of those that name the date that is asked about. */
  dated: Uint8Array;
  /** For each word of the query, 1 where it is a name, a number or another identifier. */
  named: Uint8Array;
  /** For each word of the query, in which part of short notes it is expected, whatever they are about. */
  everyday: Float64Array;
}

/**
 * What a search found, in columns; row r of every column speaks of the same memory. Rows stand in this order:
 *
 * | rows | are |
 * |---|---|
 * | 0 to `found` | the best `poolSize` by words, and by vector |
 * | `found` to `pool` | what supersedes these, and those of their neighbours that have to do with the query themselves |
 * | `pool` to `admitted` | sources of semantic memories among these, and the tail with what supersedes it and its sources |
 * | from `admitted` on | neighbours of all these, and the one or two memories that part two such: what stands around |
 *
 * The first three may be answers, and have passed the filter.
 */
export interface Signals extends QueryWordKinds {
  /** Live memories of the namespace but the semantic ones: what those say is counted in their sources. */
  memoryCount: number;
  /** When the search was asked, in milliseconds since 1970. */
  now: number;
  /** For each distinct word of the query that counts: in how many of these it occurs, or 0. */
  documentFrequencies: number[];
  found: number;
  pool: number;
  admitted: number;
  ordinals: Float64Array;
  createdAts: Float64Array;
  /** Length in words that count. */
  lengths: Uint32Array;
  /** How often each word occurs: row r, word w is at `r * documentFrequencies.length + w`. */
  frequencies: Uint16Array;
  /**
   * Synonyms of the query's words that memories hold, at most 128: each with its word's place among the words, and as what
   * part of an occurrence of that word one of its own counts. They find no memories by themselves.
   */
  synonyms: { word: number; weight: number }[];
  /** How often each synonym occurs: row r, synonym s is at `r * synonyms.length + s`. */
  synonymFrequencies: Uint16Array;
  /** 1 where a word names the row's speaker, in the order of `frequencies`. */
  speaks: Uint8Array;
  /**
   * Cosine to the query's vector, the best over a memory's parts. NaN where the query or the memory has none yet; 0 where the
   * model has none for the memory, since it does not know its language.
   */
  cosines: Float32Array;
  /**
   * For each admitted row, how near its tokens are to the query's, from 0 to 1, the best over a memory's parts; NaN where the
   * query or the memory has no states.
   */
  nearnesses: Float32Array;
  /**
   * For each admitted row, equal numbers are equal texts; what differs in white space around it or in Unicode's forms alone
   * may count as equal.
   */
  texts: Int32Array;
  /** How far each admitted row is retained, from 0 to 1. See `getRetention` in core. */
  retentions: Float32Array;
  /** Equal numbers are the same session; NO_SESSION where none was given. */
  sessions: Int32Array;
  /** Equal numbers are the same speaker; or NO_SPEAKER. See `Traits` in core/text. */
  speakers: Uint32Array;
  /** Bits of `MARKS` in core/text. */
  marks: Uint16Array;
  /**
   * Row of the memory before and after in the same session; -1 is none, or none among the rows. Of what was given no
   * session, only those are beside each other that name who speaks.
   */
  previous: Int32Array;
  next: Int32Array;
  /** Row of the memory that supersedes this one, where it was admitted too; -1 is none. */
  supersededBy: Int32Array;
  /**
   * Row of the semantic memory that was distilled from this one, where it was admitted too; -1 is none. Such a row is
   * superseded by none of the others.
   */
  distilledInto: Int32Array;
  /** How long the search took, by stage. */
  stagesMs: { words: number; vectors: number; fuse: number };
}

/** A search, how its candidates are ranked, and how large the JSON of the best may be. */
export interface AnswerRequest extends SearchRequest {
  ranking: Ranking;
  /** Whether the answer tells what its scores are made of. */
  explain?: boolean | undefined;
  maxBytes: number;
}

/** A memory that answers a query, with its score from 0 to 1; `ranked` where the request asks to explain. */
export interface Answered {
  memory: RecalledMemory;
  score: number;
  ranked?: Ranked;
}

/** The best of what was found, best first; `truncated` when there are more than the JSON of an answer has room for. */
export interface Answer {
  answers: Answered[];
  truncated: boolean;
  /** How long it took, by stage. */
  stagesMs: Signals['stagesMs'] & { read: number };
}

/** Finds the memories that answer a query. */
export interface SearchStorage {
  /** Most dimensions of vectors that it can search; no model of more may be used. */
  readonly mostDimensions: number;
  search(request: SearchRequest): Promise<Signals>;
  /** Searches, ranks what was found as `rank` in core does, and reads the texts of the best: a recall in one call. */
  answer(request: AnswerRequest): Promise<Answer>;
}
