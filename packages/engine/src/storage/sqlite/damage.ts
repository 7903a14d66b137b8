import { MemoryError } from '@memoryd/contract/errors';
import Sqlite from 'better-sqlite3';

/** What an operator can do about a file whose bytes are not as they were written. */
export const DAMAGED =
  'the database file is damaged; restore a backup (`memoryd verify` tells what is wrong with this file)';

/**
 * Something read from the file cannot have been written there: the disk, or whatever copied or wrote the file, has
 * changed it. UNAVAILABLE to callers, of whom none is at fault.
 */
export class DamagedFile extends MemoryError {
  /** @param what what cannot be, such as "memory 7 has tags that are no JSON" */
  constructor(what: string) {
    super('UNAVAILABLE', `${DAMAGED}: ${what}`);
  }
}

/** Whether an error says that what was read cannot have been written: SQLite's of a page, or this adapter's of a row. */
export function isDamage(error: unknown): error is Error {
  return (
    error instanceof DamagedFile || (error instanceof Sqlite.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code))
  );
}

/** The value that a column of JSON holds. Throws DamagedFile where it holds none. */
export function fromJson<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new DamagedFile('a row holds JSON that cannot be read');
  }
}

/** The text that a column holds. Throws DamagedFile where a damaged row gives anything else. */
export function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new DamagedFile('a row holds bytes in the place of a text');
}
