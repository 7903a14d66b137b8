import { workerData } from 'node:worker_threads';
import { type NewMemory, readVerbs as shared } from '@memoryd/core';
import pLimit from 'p-limit';
import { snapshot } from './connection.ts';
import { type FileQueries, toQueries } from './dialect.ts';
import { type Attempt, attempt, attemptAsync } from './failure.ts';
import { lazyConnection } from './open-connection.ts';
import type { ThreadData } from './storage-thread.ts';
import { firstVectors, pendingEmbeddings } from './vectors.ts';

/*
 * The thread for all reads but recall. Each file has two: one for reads of a few rows, and one for lists, transcripts,
 * counts and checks, whose scans must not block other reads. The second one also builds the index entries of queued
 * stores.
 */
const CACHE_MIB = 16;
const reading = lazyConnection((workerData as ThreadData).path, CACHE_MIB);

const own = { firstVectors, pendingEmbeddings };
const readVerbs: typeof shared & typeof own = { ...shared, ...own };

/** A call of a function of `readVerbs`: the function's name, and its arguments after `FileQueries`. */
export interface ReadCall {
  verb: keyof typeof readVerbs;
  args: unknown[];
}

// Runs calls one after the other. A connection runs one transaction at a time, but the pool may start a call before the
// previous call has ended.
const inTurn = pLimit(1);

/** Runs a read in one snapshot of the database. */
export function read({ verb, args }: ReadCall): Promise<Attempt<unknown>> {
  const call = readVerbs[verb] as (queries: FileQueries, ...rest: unknown[]) => Promise<unknown>;
  return inTurn(() =>
    attemptAsync(() => {
      const connection = reading.open();
      return snapshot(connection, () => call(toQueries(connection), ...args));
    }),
  );
}

/** Checks the pages and contents of the file. Returns the problems as messages. */
export async function checkFile(): Promise<Attempt<string[]>> {
  // Loaded on demand, because the text analysis takes longer to load than the rest of this thread. If the thread closes
  // while the module is loaded, `reading.open` throws.
  const { integrity } = await import('./integrity.ts');
  return inTurn(() => attempt(() => integrity(reading.open())));
}

/** Builds the index entries of memories to be stored, concatenated and with the placeholder ordinal 0. */
export async function buildEntries(memories: readonly NewMemory[]): Promise<Attempt<Buffer>> {
  const { buildEntry } = await import('./recall-entry.ts');
  return attempt(() => Buffer.concat(memories.map((memory) => buildEntry(memory, 0))));
}

export function close(): Promise<Attempt<void>> {
  return inTurn(() => attempt(() => reading.close()));
}
