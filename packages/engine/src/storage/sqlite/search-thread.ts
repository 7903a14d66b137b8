import { workerData } from 'node:worker_threads';
import type { KeysAsOf } from '../../ports/key-store.ts';
import type { DistilCandidates, DistilCandidatesRequest } from '../../ports/storage-distil.ts';
import type { RecalledMemory } from '../../ports/storage-memories.ts';
import type { Answer, SearchRequest, Signals } from '../../ports/storage-search.ts';
import type { RecallIndex } from '../../recall-index/recall-index.ts';
import type { Connection } from './connection.ts';
import { isDamage } from './damage.ts';
import { type Attempt, attempt } from './failure.ts';
import { lazyConnection } from './lazy-connection.ts';
import { readKeys } from './read/keys.ts';
import { answer as answerSnapshot, type SearchedAnswer } from './search/answer.ts';
import {
  distilCandidates as findDistilCandidates,
  backgroundCosine as measureBackgroundCosine,
} from './search/distil-candidates.ts';
import { IndexFollower, indexProblems } from './search/index-follower.ts';
import { readContents } from './search/read-contents.ts';
import { search as searchSnapshot } from './search/search.ts';
import { type FoundByWords, searchWords, type WordsRequest } from './search/words.ts';
import type { ThreadData } from './thread.ts';

/* The thread that recall waits for, and the only one that holds indexes in memory. */
const CACHE_MIB = 16;
const reading = lazyConnection((workerData as ThreadData).path, CACHE_MIB);
const follower = new IndexFollower();

/** What words found for an answer whose vector was still being made. */
interface AheadOfVector {
  turn: number;
  dataVersion: number;
  byWords: FoundByWords;
}

let ahead: AheadOfVector | undefined;

/** Looks at one snapshot of the database, with the index as of it; what was found ahead does not outlive it. */
function look<T>(see: (connection: Connection, index: RecallIndex, ahead?: AheadOfVector) => T): Attempt<T> {
  return attempt(() => {
    const connection = reading.open();
    const before = ahead;
    ahead = undefined;
    return connection.transaction(() => {
      const index = follower.follow(connection);
      return see(connection, index, before?.dataVersion === follower.dataVersion ? before : undefined);
    })();
  });
}

export function search(request: SearchRequest): Attempt<Signals> {
  return look((connection, index) => searchSnapshot(connection, index, request));
}

/** Looks for the words of an answer, that `answer` is called for in the same turn when its vector is there. */
export function lookAhead({ turn, ...request }: WordsRequest & { turn: number }): Attempt<void> {
  return look((_, index) => {
    ahead = { turn, dataVersion: follower.dataVersion, byWords: searchWords(index, request) };
  });
}

export function answer({ turn, ...request }: SearchedAnswer & { turn: number }): Attempt<Answer> {
  return look((connection, index, before) =>
    answerSnapshot(connection, index, request, before?.turn === turn ? before.byWords : undefined),
  );
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
    ahead = undefined;
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
export function keys(seen: number | undefined): Attempt<KeysAsOf | undefined> {
  return attempt(() => {
    const connection = reading.open();
    return connection.transaction(() => readKeys(connection, seen))();
  });
}

export function close(): Attempt<void> {
  return attempt(() => reading.close());
}
