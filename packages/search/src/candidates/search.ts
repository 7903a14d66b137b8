import type { FilterFields, MemoryFilter, Owner } from '../filter.ts';
import type { CosineScale } from '../ranking/cosine-scale.ts';
import { rankOrdinals } from '../ranking/rank.ts';
import type { QueryPeriod, Ranked, Ranking } from '../ranking/ranking.ts';
import type { Signals } from '../ranking/signals.ts';

/** The vector of a query and its model. */
export interface QueryVector {
  modelId: string;
  values: Float32Array;
  /** See `Embedding.states`. */
  states?: Int8Array;
  /** The range of the model's cosines; absent for the bundled model. */
  scale?: CosineScale | undefined;
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

/** The fields of a memory that recall returns, and those by which subscribers of events filter. */
export interface RecalledMemory extends Owner, FilterFields {
  ordinal: number;
  id: string;
  content: string;
  tags: string[];
  /** The memory that replaces this one at the moment of the request. */
  supersededBy: string | null;
  /** The revision of the text, if the request asks for an earlier time and the memory has another text at present. */
  earlierRevision: number | null;
  /** The memory that it was merged into since the time of the request; absent for other memories. */
  survivor?: number;
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

/** The best results of a search, before their texts are read. */
interface RankedResults {
  ordinals: number[];
  /** Builds the results from the memories that were read, and ends the time measurement of the `read` stage. */
  toSearchResults(read: { memories: RecalledMemory[]; truncated: boolean }): SearchResults;
}

/**
 * Ranks the candidates of a search. The SQLite adapter calls this function in the search thread, because copying all
 * signals to another thread would take as long as ranking. The results include evidence only if the request asks for an
 * explanation.
 */
export function rankFound(
  signals: Signals,
  { ranking, explain }: Pick<RankedSearchRequest, 'ranking' | 'explain'>,
): RankedResults {
  const { words, vectors, fuse } = signals.stagesMs;
  const foundAt = performance.now();
  const ranked = rankOrdinals(signals, ranking);
  const rankedAt = performance.now();
  const toSearchResult = (memory: RecalledMemory): SearchResult => {
    const found = ranked.get(memory.survivor ?? memory.ordinal) as Ranked;
    return { memory, score: found.score, ...(explain && { ranked: found }) };
  };
  return {
    ordinals: [...ranked.keys()],
    toSearchResults: ({ memories, truncated }) => ({
      results: memories.slice(0, ranking.limit).map(toSearchResult),
      truncated,
      stagesMs: { words, vectors, fuse: fuse + rankedAt - foundAt, read: performance.now() - rankedAt },
    }),
  };
}
