import type { Storage } from '../../../ports/storage.ts';
import type { Connection } from '../connection.ts';
import { backgroundCosine } from './background-cosine.ts';
import { distilCandidates } from './distil-candidates.ts';
import { readContents } from './read-contents.ts';
import { search } from './search.ts';
import { MOST_DIMENSIONS } from './vector-index.ts';

/** What recall and distilling look for. */
export function searchVerbs(connection: Connection) {
  return {
    mostDimensions: MOST_DIMENSIONS,
    search: (request) => connection.snapshot((queries) => search(queries, request)),
    read: (...args) => readContents(connection, ...args),
    distilCandidates: (request) => connection.snapshot((queries) => distilCandidates(queries, request)),
    backgroundCosine: (namespace) => connection.snapshot((queries) => backgroundCosine(queries, namespace)),
  } satisfies Partial<Storage>;
}
