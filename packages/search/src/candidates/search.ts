import type { MemoryFilter } from '../filter.ts';
import type { Owner } from '../owner.ts';
import type { QueryPeriod, Ranked, Ranking } from '../ranking/ranking.ts';
import type { Signals } from '../ranking/signals.ts';

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

/** A search with ranking. `maxBytes` limits the JSON of the results. */
export interface RankedSearchRequest extends SearchRequest {
  ranking: Ranking;
  /** Whether each result includes its evidence. */
  explain?: boolean | undefined;
  maxBytes: number;
}

/** The fields of a memory that recall returns. */
export interface RecalledMemory extends Owner {
  ordinal: number;
  id: string;
  content: string;
  tags: string[];
  sessionId: string | null;
  createdAt: number;
  updatedAt: number;
  supersededBy: string | null;
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
