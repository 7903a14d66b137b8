import { workerData } from 'node:worker_threads';
import type { BackgroundRequest, DistilCandidates, DistilCandidatesRequest } from '@memoryd/core';
import { readKeys, stats } from '@memoryd/core';
import type {
  RankedSearchRequest,
  RecalledMemory,
  RecallIndex,
  SearchRequest,
  SearchResults,
  Signals,
} from '@memoryd/search';
import type { Connection } from './connection.ts';
import { type FileQueries, snapshot } from './dialect.ts';
import { type Attempt, attempt, attemptAsync } from './failure.ts';
import { isCorruption } from './file.ts';
import { lazyConnection } from './open-connection.ts';
import {
  distilCandidates as findDistilCandidates,
  backgroundCosine as measureBackgroundCosine,
} from './search/distil-candidates.ts';
import { IndexFollower, indexProblems } from './search/index-follower.ts';
import { readContents, searchAndRank as searchAndRankSnapshot, search as searchSnapshot } from './search/search.ts';
import type { ThreadData } from './storage-thread.ts';

/* The thread that runs recall searches. The in-memory index exists only in this thread. */

const CACHE_MIB = 16;
const reading = lazyConnection((workerData as ThreadData).path, CACHE_MIB);
const follower = new IndexFollower();

/** Runs a search in one snapshot of the database, with the index updated to that snapshot. */
function withIndex<T>(run: (connection: Connection, index: RecallIndex) => T): Attempt<T> {
  return attempt(() => {
    const connection = reading.open();
    return connection.transaction(() => run(connection, follower.follow(connection)))();
  });
}

export function search(request: SearchRequest): Attempt<Signals> {
  return withIndex((connection, index) => searchSnapshot(connection, index, request));
}

export function searchAndRank(request: RankedSearchRequest): Attempt<SearchResults> {
  return withIndex((connection, index) => searchAndRankSnapshot(connection, index, request));
}

/**
 * Maximum changes applied to the index per call. So many changes take a few milliseconds, which does not noticeably
 * delay a waiting search.
 */
const MAX_CHANGES_PER_CALL = 512;

/** Maximum bytes of token states loaded per call. They take about a millisecond. */
const MAX_STATE_BYTES_PER_CALL = 512 * 1024;

/**
 * Applies at most MAX_CHANGES_PER_CALL changes of the file to the index, so that the next search has fewer changes to
 * apply. If the index is up to date, loads token states into its cache. Returns true if no change and no states remain.
 */
export function follow(): Attempt<boolean> {
  return attempt(() => {
    const connection = reading.open();
    return connection.transaction(
      () =>
        follower.followSome(connection, MAX_CHANGES_PER_CALL) &&
        follower.loadStates(connection, MAX_STATE_BYTES_PER_CALL),
    )();
  });
}

export function distilCandidates(request: DistilCandidatesRequest): Attempt<DistilCandidates> {
  return withIndex((connection, index) => findDistilCandidates(connection, index, request));
}

export function backgroundCosine(request: BackgroundRequest): Attempt<number> {
  return withIndex((connection, index) => measureBackgroundCosine(connection, index, request));
}

/** Returns the differences between the in-memory index and the file. */
export function checkIndex(): Attempt<string[]> {
  return attempt(() => {
    const connection = reading.open();
    try {
      return connection.transaction(() => indexProblems(connection, follower.follow(connection)))();
    } catch (error) {
      if (isCorruption(error)) return [`the index cannot be built: ${error.message}`];
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

/** Reads that are so short that they do not noticeably delay a search. */
const quickReads = { readKeys, stats };

/** Runs one of `quickReads` in one snapshot of the database. */
export function quickRead({
  verb,
  args,
}: {
  verb: keyof typeof quickReads;
  args: unknown[];
}): Promise<Attempt<unknown>> {
  const call = quickReads[verb] as (queries: FileQueries, ...rest: unknown[]) => Promise<unknown>;
  return attemptAsync(() => snapshot(reading.open(), (queries) => call(queries, ...args)));
}

export function close(): Attempt<void> {
  return attempt(() => reading.close());
}
