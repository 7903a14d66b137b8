import type { Storage } from '../../../ports/storage.ts';
import type { Connection, Queries } from '../connection.ts';
import { backgroundCosine } from './background-cosine.ts';
import { distilCandidates } from './distil-candidates.ts';
import { SEARCH_SETTINGS } from './nearest.ts';
import { readContents } from './read-contents.ts';
import { search } from './search.ts';
import { MOST_DIMENSIONS } from './vector-index.ts';

/** What recall and distilling look for. */
export function searchVerbs(connection: Connection) {
  const snapshot = <T>(read: (queries: Queries) => Promise<T>) => connection.snapshot(read, SEARCH_SETTINGS);
  return {
    mostDimensions: MOST_DIMENSIONS,
    search: (request) => snapshot((queries) => search(queries, request)),
    read: (...args) => readContents(connection, ...args),
    distilCandidates: (request) => snapshot((queries) => distilCandidates(queries, request)),
    backgroundCosine: (namespace) => snapshot((queries) => backgroundCosine(queries, namespace)),
  } satisfies Partial<Storage>;
}
