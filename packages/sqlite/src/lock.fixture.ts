import Sqlite from 'better-sqlite3';

/** Blocks all writes to a database file with another connection. Returns a function that ends the lock. */
export function lockFile(path: string): () => void {
  const other = new Sqlite(path);
  other.exec('BEGIN IMMEDIATE');
  return () => void other.close();
}
