import { workerData } from 'node:worker_threads';
import { type ReadRequest, readVerbs, type Storage } from '@memoryd/core';
import type {
  RankedSearchRequest,
  RecalledMemory,
  RecallIndex,
  SearchRequest,
  SearchResults,
  Signals,
} from '@memoryd/search';
import pLimit from 'p-limit';
import { type Connection, snapshot } from './connection.ts';
import { type FileQueries, toQueries } from './dialect.ts';
import { type Attempt, attempt, attemptAsync } from './failure.ts';
import { isCorruption } from './file.ts';
import { lazyConnection } from './open-connection.ts';
import {
  distilCandidates as findDistilCandidates,
  backgroundCosine as measureBackgroundCosine,
} from './search/distil-candidates.ts';
import { IndexFollower, indexProblems } from './search/index-follower.ts';
import { readContents, searchAndRank as searchAndRankSnapshot, search as searchSnapshot } from './search/search.ts';
import type { SearchThreadData } from './storage-thread.ts';

type DistilRequest = Parameters<Storage['distilCandidates']>[0];

/* The thread that runs recall searches. The in-memory index exists only in this thread. */

const CACHE_MIB = 16;
const { path, states } = workerData as SearchThreadData;
const reading = lazyConnection(path, CACHE_MIB);
const follower = new IndexFollower(undefined, states);

/** Runs calls one after the other, because the connection runs one transaction at a time, and the index one query. */
const inTurn = pLimit(1);

/** Runs a call in one snapshot of the database. */
function inSnapshot<T>(run: (connection: Connection) => T | Promise<T>): Promise<Attempt<T>> {
  return inTurn(() =>
    attemptAsync(() => {
      const connection = reading.open();
      return snapshot(connection, () => run(connection));
    }),
  );
}

/** Runs a search in one snapshot of the database, with the index updated to that snapshot. */
function withIndex<T>(run: (connection: Connection, index: RecallIndex) => T | Promise<T>): Promise<Attempt<T>> {
  return inSnapshot((connection) => run(connection, follower.follow(connection)));
}

export function search(request: SearchRequest): Promise<Attempt<Signals>> {
  return withIndex((connection, index) => searchSnapshot(connection, index, request));
}

export function searchAndRank(request: RankedSearchRequest): Promise<Attempt<SearchResults>> {
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
export function follow(): Promise<Attempt<boolean>> {
  return inSnapshot(
    (connection) =>
      follower.followSome(connection, MAX_CHANGES_PER_CALL) &&
      follower.loadStates(connection, MAX_STATE_BYTES_PER_CALL),
  );
}

export function distilCandidates(
  request: DistilRequest,
): Promise<Attempt<Awaited<ReturnType<Storage['distilCandidates']>>>> {
  return withIndex((connection, index) => findDistilCandidates(toQueries(connection), index, request));
}

export function backgroundCosine(request: Parameters<Storage['backgroundCosine']>[0]): Promise<Attempt<number>> {
  return withIndex((connection, index) => measureBackgroundCosine(connection, index, request));
}

/** Returns the differences between the in-memory index and the file. */
export function checkIndex(): Promise<Attempt<string[]>> {
  return inSnapshot((connection) => {
    try {
      return indexProblems(connection, follower.follow(connection));
    } catch (error) {
      if (isCorruption(error)) return [`the index cannot be built: ${error.message}`];
      throw error;
    }
  });
}

export interface ReadTask {
  namespace: string;
  ordinals: number[];
  request: ReadRequest;
  maxBytes: number;
}

export function read(task: ReadTask): Promise<Attempt<{ memories: RecalledMemory[]; truncated: boolean }>> {
  const { namespace, ordinals, request, maxBytes } = task;
  return inSnapshot((connection) => readContents(connection, namespace, ordinals, request, maxBytes));
}

/** Reads that are so short that they do not noticeably delay a search. */
const QUICK_READS = ['readKeys', 'stats'] as const;

/** Runs one of `QUICK_READS` in one snapshot of the database. */
export function quickRead({
  verb,
  args,
}: {
  verb: (typeof QUICK_READS)[number];
  args: unknown[];
}): Promise<Attempt<unknown>> {
  const call = readVerbs[verb] as (queries: FileQueries, ...rest: unknown[]) => Promise<unknown>;
  return inSnapshot((connection) => call(toQueries(connection), ...args));
}

export function close(): Promise<Attempt<void>> {
  return inTurn(() => attempt(() => reading.close()));
}
