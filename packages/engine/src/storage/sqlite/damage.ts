import Sqlite from 'better-sqlite3';
import { DamagedDatabase } from '../damage.ts';

/** Whether an error says that what was read cannot have been written: SQLite's of a page, or the adapter's of a row. */
export function isDamage(error: unknown): error is Error {
  return (
    error instanceof DamagedDatabase ||
    (error instanceof Sqlite.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code))
  );
}
