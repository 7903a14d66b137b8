import { MemoryError } from '@memoryd/contract/errors';
import Sqlite from 'better-sqlite3';

/** What went wrong in a thread. Errors lose their codes and classes on the way between threads, so they go as data. */
export interface Failure {
  code: string;
  message: string;
  stack?: string;
}

/** Either what a call answered or why it could not. */
export type Attempt<T> = { value: T } | { failure: Failure };

export function attempt<T>(call: () => T): Attempt<T> {
  try {
    return { value: call() };
  } catch (error) {
    return { failure: toFailure(error) };
  }
}

export function toFailure(error: unknown): Failure {
  if (!(error instanceof Error)) return { code: 'UNKNOWN', message: String(error) };
  const code = error instanceof Sqlite.SqliteError || error instanceof MemoryError ? error.code : 'UNKNOWN';
  return { code, message: error.message, ...(error.stack ? { stack: error.stack } : {}) };
}

/** SQLite's result codes for a file or disk that cannot serve now, with their extended forms (sqlite.org/rescode.html). */
const UNAVAILABLE = /^SQLITE_(BUSY|CANTOPEN|CORRUPT|FULL|IOERR|LOCKED|NOTADB|PERM|PROTOCOL|READONLY)/;

/** The value of an attempt; throws UNAVAILABLE where the file or disk cannot serve, else the defect. */
export function unwrap<T>(attempted: Attempt<T>): T {
  if ('value' in attempted) return attempted.value;
  const { code, message, stack } = attempted.failure;
  const cause = Object.assign(new Error(message), { code, ...(stack ? { stack } : {}) });
  if (code === 'UNAVAILABLE') throw new MemoryError('UNAVAILABLE', message, { cause });
  if (/^SQLITE_(NOTADB|CORRUPT)/.test(code)) {
    throw new MemoryError('UNAVAILABLE', 'the file is no memoryd database, or it is damaged', { cause });
  }
  if (UNAVAILABLE.test(code))
    throw new MemoryError('UNAVAILABLE', `the database cannot be used now (${code})`, { cause });
  throw cause;
}
