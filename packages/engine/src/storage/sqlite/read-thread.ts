import { workerData } from 'node:worker_threads';
import type { NewMemory } from '../../ports/storage-memories.ts';
import { type Attempt, attempt } from './failure.ts';
import { lazyConnection } from './lazy-connection.ts';
import { type ReadVerbs, readVerbs } from './read/verbs.ts';
import type { ThreadData } from './thread.ts';

/*
 * The thread for lists, transcripts and counts: their scans hold up neither recall nor writers. Of batches that wait to be
 * written it makes the entries.
 */
const CACHE_MIB = 16;
const reading = lazyConnection((workerData as ThreadData).path, CACHE_MIB);

/** One call of a read verb: its name and its arguments after the connection. */
export interface ReadCall {
  verb: keyof ReadVerbs;
  args: unknown[];
}

/** Answers a read verb from one snapshot of the database. */
export function read({ verb, args }: ReadCall): Attempt<unknown> {
  const call = readVerbs[verb] as (...all: unknown[]) => unknown;
  return attempt(() => {
    const connection = reading.open();
    return connection.transaction(() => call(connection, ...args))();
  });
}

/** What is wrong with the file. */
export async function checkFile(): Promise<Attempt<string[]>> {
  // What makes entries of texts takes longer to load than the rest of this thread, and is rarely needed. Meanwhile the
  // thread may be told to close.
  const { integrity } = await import('./read/integrity.ts');
  return attempt(() => integrity(reading.open()));
}

/** The entries of memories that are about to be stored, one after the other, each with the ordinal 0. */
export async function makeEntries(memories: readonly NewMemory[]): Promise<Attempt<Buffer>> {
  const { entryOf } = await import('./entry-of.ts');
  return attempt(() => Buffer.concat(memories.map((memory) => entryOf(memory, 0))));
}

export function close(): Attempt<void> {
  return attempt(() => reading.close());
}
