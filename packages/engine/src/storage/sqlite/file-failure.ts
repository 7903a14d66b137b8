import { MemoryError } from '@memoryd/contract/errors';
import Sqlite from 'better-sqlite3';
import { DAMAGED } from '../damage.ts';

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

/** As `attempt`, for what ends later. */
export async function attemptAll<T>(call: () => Promise<T>): Promise<Attempt<T>> {
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
 * What is told of SQLite's result codes for a file or disk that cannot serve now, their extended forms included
 * (sqlite.org/rescode.html): what is wrong and, where somebody has to do something, what. The code itself is in the cause.
 */
const UNAVAILABLE: readonly [code: RegExp, message: string][] = [
  [/^SQLITE_CORRUPT/, DAMAGED],
  [/^SQLITE_NOTADB/, 'the file is no memoryd database, or its beginning is damaged; restore a backup'],
  [/^SQLITE_FULL/, 'the disk is full: nothing was written; free some space'],
  [/^SQLITE_(READONLY|PERM)/, 'the database file, or the folder that it lies in, cannot be written'],
  [/^SQLITE_(CANTOPEN|AUTH)/, 'the database file, or the folder that it lies in, cannot be opened'],
  [/^SQLITE_(BUSY|LOCKED|PROTOCOL)/, 'another process holds the database for too long'],
  [/^SQLITE_IOERR/, 'the disk of the database failed, or takes no more'],
];

/** The value of an attempt; throws UNAVAILABLE where the file or disk cannot serve, else the defect. */
export function unwrap<T>(attempted: Attempt<T>): T {
  if ('value' in attempted) return attempted.value;
  const { code, message, stack } = attempted.failure;
  const cause = Object.assign(new Error(message), { code, ...(stack ? { stack } : {}) });
  if (code === 'UNAVAILABLE') throw new MemoryError('UNAVAILABLE', message, { cause });
  const [, told] = UNAVAILABLE.find(([codes]) => codes.test(code)) ?? [];
  if (told !== undefined) throw new MemoryError('UNAVAILABLE', told, { cause });
  throw cause;
}
