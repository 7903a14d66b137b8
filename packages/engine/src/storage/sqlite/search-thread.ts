import { workerData } from 'node:worker_threads';
import type { KeySnapshot } from '../../ports/administration.ts';
import type { DistilCandidates, DistilCandidatesRequest } from '../../ports/storage-consolidation.ts';
import type { RecalledMemory } from '../../ports/storage-memories.ts';
import type { Answer, AnswerRequest, SearchRequest, Signals } from '../../ports/storage-search.ts';
import type { RecallIndex } from '../../recall-index/recall-index.ts';
import { readKeys } from '../sql/api-keys.ts';
import type { Connection } from './connection.ts';
import { isDamage } from './file.ts';
import { type Attempt, attempt, attemptAll } from './file-failure.ts';
import { toQueries } from './file-queries.ts';
import { lazyConnection } from './open-connection.ts';
import {
  distilCandidates as findDistilCandidates,
  backgroundCosine as measureBackgroundCosine,
} from './search/distil-candidates.ts';
import { IndexFollower, indexProblems } from './search/index-follower.ts';
import { answer as answerSnapshot, readContents, search as searchSnapshot } from './search/search.ts';
import type { ThreadData } from './storage-thread.ts';

/* The thread that recall waits for, and the only one that holds indexes in memory. */

const CACHE_MIB = 16;
const reading = lazyConnection((workerData as ThreadData).path, CACHE_MIB);
const follower = new IndexFollower();

/** Looks at one snapshot of the database, with the index as of it. */
function look<T>(see: (connection: Connection, index: RecallIndex) => T): Attempt<T> {
  return attempt(() => {
    const connection = reading.open();
    return connection.transaction(() => see(connection, follower.follow(connection)))();
  });
}

export function search(request: SearchRequest): Attempt<Signals> {
  return look((connection, index) => searchSnapshot(connection, index, request));
}

export function answer(request: AnswerRequest): Attempt<Answer> {
  return look((connection, index) => answerSnapshot(connection, index, request));
}

/** Memories that the index takes in before a search that waits gets its turn: a few milliseconds. */
const FOLLOWED_AT_ONCE = 512;

/** Brings the index in memory nearer to the file, so that the next search need not; answers whether it is there. */
export function follow(): Attempt<boolean> {
  return attempt(() => {
    const connection = reading.open();
    return connection.transaction(() => follower.followSome(connection, FOLLOWED_AT_ONCE))();
  });
}

export function distilCandidates(request: DistilCandidatesRequest): Attempt<DistilCandidates> {
  return look((connection, index) => findDistilCandidates(connection, index, request));
}

export function backgroundCosine(namespace: string): Attempt<number> {
  return look((connection, index) => measureBackgroundCosine(connection, index, namespace));
}

/** What is wrong with the index in memory, held against the file. */
export function checkIndex(): Attempt<string[]> {
  return attempt(() => {
    const connection = reading.open();
    try {
      return connection.transaction(() => indexProblems(connection, follower.follow(connection)))();
    } catch (error) {
      if (isDamage(error)) return [`no index can be made: ${error.message}`];
      throw error;
    }
  });
}

export interface ReadRequest {
  namespace: string;
  ordinals: number[];
  now: number;
  maxBytes: number;
}

export function read(request: ReadRequest): Attempt<{ memories: RecalledMemory[]; truncated: boolean }> {
  const { namespace, ordinals, now, maxBytes } = request;
  return attempt(() => {
    const connection = reading.open();
    return connection.transaction(() => readContents(connection, namespace, ordinals, now, maxBytes))();
  });
}

/** See `KeyStore.read`. */
export function keys(seen: number | undefined): Promise<Attempt<KeySnapshot | undefined>> {
  return attemptAll(async () => readKeys(toQueries(reading.open()), seen));
}

export function close(): Attempt<void> {
  return attempt(() => reading.close());
}
