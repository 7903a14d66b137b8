import { rankOrdinals } from '../ranking/rank.ts';
import type { Ranked } from '../ranking/ranking.ts';
import type { Signals } from '../ranking/signals.ts';
import type { RankedSearchRequest, RecalledMemory, SearchResult, SearchResults } from './search.ts';

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
    const found = ranked.get(memory.ordinal) as Ranked;
    return { memory, score: found.score, ...(explain && { ranked: found }) };
  };
  return {
    ordinals: [...ranked.keys()],
    toSearchResults: ({ memories, truncated }) => ({
      results: memories.map(toSearchResult),
      truncated,
      stagesMs: { words, vectors, fuse: fuse + rankedAt - foundAt, read: performance.now() - rankedAt },
    }),
  };
}
