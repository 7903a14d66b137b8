import { workerData } from 'node:worker_threads';
import pLimit from 'p-limit';
import type { NewMemory } from '../../ports/storage-memories.ts';
import { readVerbs as shared } from '../sql/verbs.ts';
import { type Attempt, attempt, attemptAll } from './file-failure.ts';
import { type FileQueries, snapshot } from './file-queries.ts';
import { pendingEmbeddings } from './file-vectors.ts';
import { lazyConnection } from './open-connection.ts';
import type { ThreadData } from './storage-thread.ts';

/*
 * The thread for lists, transcripts and counts: their scans hold up neither recall nor writers. Of batches that wait to be
 * written it makes the entries.
 */
const CACHE_MIB = 16;
const reading = lazyConnection((workerData as ThreadData).path, CACHE_MIB);

const readVerbs = { ...shared, pendingEmbeddings };

/** One call of a read verb: its name and its arguments after the connection. */
export interface ReadCall {
  verb: keyof typeof readVerbs;
  args: unknown[];
}

// The connection is in one transaction at a time, and the pool may begin a call before the last has ended.
const inTurn = pLimit(1);

/** Does a read in one snapshot of the database. */
export function read({ verb, args }: ReadCall): Promise<Attempt<unknown>> {
  const call = readVerbs[verb] as (queries: FileQueries, ...rest: unknown[]) => Promise<unknown>;
  return inTurn(() => attemptAll(() => snapshot(reading.open(), (queries) => call(queries, ...args))));
}

/** What is wrong with the file. */
export async function checkFile(): Promise<Attempt<string[]>> {
  // What makes entries of texts takes longer to load than the rest of this thread, and is rarely needed. Meanwhile the
  // thread may be told to close.
  const { integrity } = await import('./file-integrity.ts');
  return inTurn(() => attempt(() => integrity(reading.open())));
}

/** The entries of memories that are about to be stored, one after the other, each with the ordinal 0. */
export async function makeEntries(memories: readonly NewMemory[]): Promise<Attempt<Buffer>> {
  const { getEntry } = await import('./recall-entry.ts');
  return attempt(() => Buffer.concat(memories.map((memory) => getEntry(memory, 0))));
}

export function close(): Promise<Attempt<void>> {
  return inTurn(() => attempt(() => reading.close()));
}
