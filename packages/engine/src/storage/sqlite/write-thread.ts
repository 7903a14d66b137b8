import { workerData } from 'node:worker_threads';
import { MemoryError } from '@memoryd/contract';
import { type Connection, openForWriting } from './connection.ts';
import { type Attempt, attempt, toFailure } from './failure.ts';
import { fileIdentity } from './file.ts';
import { migrate } from './migrate.ts';
import { reindexWords } from './recall-entry.ts';
import type { ThreadData } from './thread.ts';
import { type WriteVerbs, writeVerbs } from './write/verbs.ts';

/*
 * The thread that owns the one connection which writes. It commits a batch of calls in one transaction, so that many
 * writers share one sync of the disk.
 */
const { path } = workerData as ThreadData;
let opened: Connection | undefined;
let openedFile = '';

// Opened at the first call rather than with the thread, so that a file that is refused is an answer and no crash.
function connect(): Connection {
  if (!opened) {
    opened = openForWriting(path);
    openedFile = fileIdentity(path);
  }
  return opened;
}

// SQLite goes on writing to a file that was deleted or moved, and all of it would be lost with the process.
function assertInPlace(): void {
  if (fileIdentity(path) === openedFile) return;
  throw new MemoryError('UNAVAILABLE', 'the database file has been moved or deleted; start the service again');
}

/** One call of a write verb: its name and its arguments after the connection. */
export interface WriteCall {
  verb: keyof WriteVerbs;
  args: unknown[];
}

/** Takes the file to the present schema and analysis. Nothing else may be asked before. */
export function open(): Attempt<void> {
  return attempt(() => {
    migrate(connect());
    reindexWords(connect());
  });
}

/**
 * Commits calls in one transaction, in their order. A call that throws is undone and leaves the others as they are;
 * when the commit fails, all have failed.
 */
export function commit(calls: WriteCall[]): Attempt<Attempt<unknown>[]> {
  return attempt(() => {
    const connection = connect();
    assertInPlace();
    return connection.transaction(() => calls.map((call) => inSavepoint(connection, call))).immediate();
  });
}

function inSavepoint(connection: Connection, { verb, args }: WriteCall): Attempt<unknown> {
  const call = writeVerbs[verb] as (...all: unknown[]) => unknown;
  // A transaction inside a transaction is a savepoint.
  const nested = connection.transaction(() => call(connection, ...args));
  try {
    return { value: nested() };
  } catch (error) {
    // SQLite gives up the whole transaction on some errors, such as a full disk; then there is nothing to go on with.
    if (!connection.inTransaction) throw error;
    return { failure: toFailure(error) };
  }
}

/** How long a checkpoint waits for readers of old content. */
const CHECKPOINT_TIMEOUT_MS = 50;

/**
 * Writes the log into the file and cuts it to nothing, so that content deleted by earlier commits is in neither;
 * answers false when a reader still needs the log.
 */
export function purge(): Attempt<boolean> {
  return attempt(() => {
    const connection = connect();
    const timeoutMs = connection.pragma('busy_timeout', { simple: true }) as number;
    connection.pragma(`busy_timeout = ${CHECKPOINT_TIMEOUT_MS}`);
    try {
      const [result] = connection.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
      return result?.busy === 0;
    } finally {
      connection.pragma(`busy_timeout = ${timeoutMs}`);
    }
  });
}

/** Closes the connection; being the last one of the file, it removes the log. */
export function close(): Attempt<void> {
  return attempt(() => {
    opened?.pragma('optimize');
    opened?.close();
    opened = undefined;
  });
}
