import { NEAREST, type Queries, rankFound, type SearchRequest, type Storage } from '@memoryd/engine/storage-kit';
import type { Connection } from '../connection.ts';
import type { Replica } from '../replica.ts';
import { backgroundCosine } from './background-cosine.ts';
import { distilCandidates } from './distil-candidates.ts';
import { searchSettings } from './nearest.ts';
import { readContents } from './read-contents.ts';
import { search } from './search.ts';
import { MOST_DIMENSIONS } from './vector-index.ts';

/** It holds up nobody but a connection, and most of what one candidate takes is asking. */
const CANDIDATES_AT_ONCE = 16;

/**
 * What recall and distilling look for. Where there is a replica, recall finds memories by it and reads their texts from the
 * database itself, so that it gives out none that was forgotten.
 */
export function searchVerbs(
  connection: Connection,
  replica?: Replica,
): Pick<
  Storage,
  'mostDimensions' | 'candidatesAtOnce' | 'search' | 'answer' | 'read' | 'distilCandidates' | 'backgroundCosine'
> {
  const find = (request: SearchRequest) => {
    const settings = searchSettings(request.poolSize);
    const ask = (of: Connection) => of.snapshot((queries) => search(queries, request), settings);
    return replica && !request.isUpToDate ? replica.ask(request.namespace, ask) : ask(connection);
  };
  const distil = <T>(read: (queries: Queries) => Promise<T>) => connection.snapshot(read, searchSettings(NEAREST));
  return {
    mostDimensions: MOST_DIMENSIONS,
    candidatesAtOnce: CANDIDATES_AT_ONCE,
    search: find,
    async answer(request) {
      const { namespace, now, maxBytes } = request;
      // No connection is held by those that wait for the model.
      const { ordinals, toAnswer } = rankFound(await find({ ...request, vector: await request.vector }), request);
      return toAnswer(await readContents(connection, namespace, ordinals, now, maxBytes));
    },
    read: (...args) => readContents(connection, ...args),
    distilCandidates: (request) => distil((queries) => distilCandidates(queries, request)),
    backgroundCosine: (namespace) => distil((queries) => backgroundCosine(queries, namespace)),
  };
}
