import type { Storage } from '../../../ports/storage.ts';
import type { Connection } from '../connection.ts';

type SearchVerbs = Pick<Storage, 'mostDimensions' | 'search' | 'read' | 'distilCandidates' | 'backgroundCosine'>;

/** What recall and distilling look for. */
export function searchVerbs(_connection: Connection): SearchVerbs {
  return {} as SearchVerbs;
}
