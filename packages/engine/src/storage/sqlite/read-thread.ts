import { workerData } from 'node:worker_threads';
import { openForReading } from './connection.ts';
import { type Attempt, attempt } from './failure.ts';
import { type ReadVerbs, readVerbs } from './read/verbs.ts';
import type { ThreadData } from './thread.ts';

/* The thread for lists, transcripts and counts: their scans hold up neither recall nor writers. */
const CACHE_MIB = 16;
const connection = openForReading((workerData as ThreadData).path, CACHE_MIB);

/** One call of a read verb: its name and its arguments after the connection. */
export interface ReadCall {
  verb: keyof ReadVerbs;
  args: unknown[];
}

/** Answers a read verb from one snapshot of the database. */
export function read({ verb, args }: ReadCall): Attempt<unknown> {
  const call = readVerbs[verb] as (...all: unknown[]) => unknown;
  return attempt(() => connection.transaction(() => call(connection, ...args))());
}

export function close(): Attempt<void> {
  return attempt(() => {
    connection.close();
  });
}
