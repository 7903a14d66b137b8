import { workerData } from 'node:worker_threads';
import { MemoryError } from '@memoryd/contract/errors';
import { type Connection, openForReading } from './connection.ts';
import { type Attempt, attempt } from './failure.ts';
import { type ReadVerbs, readVerbs } from './read/verbs.ts';
import type { ThreadData } from './thread.ts';

/* The thread for lists, transcripts and counts: their scans hold up neither recall nor writers. */
const CACHE_MIB = 16;
let opened: Connection | undefined;
let closed = false;

// Opened at the first call rather than with the thread, so that a file that cannot be read is an answer and no crash.
function connect(): Connection {
  if (closed) throw new MemoryError('UNAVAILABLE', 'the database is closed');
  opened ??= openForReading((workerData as ThreadData).path, CACHE_MIB);
  return opened;
}

/** One call of a read verb: its name and its arguments after the connection. */
export interface ReadCall {
  verb: keyof ReadVerbs;
  args: unknown[];
}

/** Answers a read verb from one snapshot of the database. */
export function read({ verb, args }: ReadCall): Attempt<unknown> {
  const call = readVerbs[verb] as (...all: unknown[]) => unknown;
  return attempt(() => {
    const connection = connect();
    return connection.transaction(() => call(connection, ...args))();
  });
}

/** What is wrong with the file. */
export async function checkFile(): Promise<Attempt<string[]>> {
  // What makes entries of texts takes longer to load than the rest of this thread, and nothing else here needs it. Meanwhile
  // the thread may be told to close.
  const { integrity } = await import('./read/integrity.ts');
  return attempt(() => integrity(connect()));
}

export function close(): Attempt<void> {
  return attempt(() => {
    closed = true;
    opened?.close();
  });
}
