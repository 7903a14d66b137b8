import { MemoryError } from '@memoryd/contract/errors';
import { CorruptDatabaseError } from '@memoryd/core';

import Sqlite from 'better-sqlite3';

/** An error in a form that can be sent between threads, because cloned errors lose their class and code. */
export interface Failure {
  code: string;
  message: string;
  stack?: string;
}

/** The value that a call returned, or the error that it threw. */
export type Attempt<T> = { value: T } | { failure: Failure };

export function attempt<T>(call: () => T): Attempt<T> {
  try {
    return { value: call() };
  } catch (error) {
    return { failure: toFailure(error) };
  }
}

/** Same as `attempt`, for an async call. */
export async function attemptAsync<T>(call: () => Promise<T>): Promise<Attempt<T>> {
  try {
    return { value: await call() };
  } catch (error) {
    return { failure: toFailure(error) };
  }
}

export function toFailure(error: unknown): Failure {
  if (!(error instanceof Error)) return { code: 'UNKNOWN', message: String(error) };
  const code = error instanceof Sqlite.SqliteError || error instanceof MemoryError ? error.code : 'UNKNOWN';
  return { code, message: error.message, ...(error.stack ? { stack: error.stack } : {}) };
}

/**
 * Messages for the SQLite result codes of an unusable file or disk, including extended codes (sqlite.org/rescode.html).
 * A message states the problem and, if needed, the fix. The error's cause has the code.
 */
const UNAVAILABLE: readonly [code: RegExp, message: string][] = [
  [/^SQLITE_CORRUPT/, CorruptDatabaseError.MESSAGE],
  [/^SQLITE_NOTADB/, 'the file is not a memoryd database, or its header is corrupt; restore a backup'],
  [/^SQLITE_FULL/, 'the disk is full, so nothing was written; free some space'],
  [/^SQLITE_(READONLY|PERM)/, 'the database file or its folder cannot be written; check the permissions'],
  [/^SQLITE_(CANTOPEN|AUTH)/, 'the database file or its folder cannot be opened; check the path and the permissions'],
  [/^SQLITE_(BUSY|LOCKED|PROTOCOL)/, 'another process has locked the database for too long; retry later'],
  [/^SQLITE_IOERR/, 'the disk of the database failed or has no space left; check the disk, or free some space'],
];

/**
 * Returns the value of an attempt. If the call failed, throws UNAVAILABLE for an unusable file or disk, and otherwise
 * an error with the original message, code and stack.
 *
 * @param name replaces "the database file" in messages
 */
export function unwrap<T>(attempted: Attempt<T>, name?: string): T {
  if ('value' in attempted) return attempted.value;
  const { code, message, stack } = attempted.failure;
  const cause = Object.assign(new Error(message), { code, ...(stack ? { stack } : {}) });
  if (code === 'UNAVAILABLE') throw new MemoryError('UNAVAILABLE', message, { cause });
  const [, known] = UNAVAILABLE.find(([codes]) => codes.test(code)) ?? [];
  if (known !== undefined) {
    const named = known.replace(/^the (database )?file\b/, (subject) => name ?? subject);
    throw new MemoryError('UNAVAILABLE', named, { cause });
  }
  throw cause;
}
