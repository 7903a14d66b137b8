import { sql } from '../sql/sql.ts';
import type { Transaction } from '../sql/transaction.ts';
import { type Connection, statement as prepared } from './connection.ts';
import { type FileQueries, toQueries } from './queries.ts';
import { recallWriter } from './recall-writer.ts';

/** Inside a transaction that writes a file. */
export interface FileTransaction extends FileQueries, Transaction {}

/** Returns queries of a connection that is in a transaction with what writes need. */
export function toTransaction(queries: FileQueries): FileTransaction {
  return {
    ...queries,
    recall: recallWriter(queries),
    async nextOrdinals(count) {
      const last = await queries.row<{ seq: number }>(sql`SELECT seq FROM sqlite_sequence WHERE name = 'memory'`);
      return Array.from({ length: count }, (_, i) => (last?.seq ?? 0) + 1 + i);
    },
  };
}

/** Does work in a transaction that writes, all of it or none. */
export async function transaction<T>(
  connection: Connection,
  work: (transaction: FileTransaction) => Promise<T>,
): Promise<T> {
  const queries = toQueries(connection);
  prepared(connection, 'BEGIN IMMEDIATE').run();
  try {
    const result = await work(toTransaction(queries));
    prepared(connection, 'COMMIT').run();
    return result;
  } catch (error) {
    if (connection.inTransaction) prepared(connection, 'ROLLBACK').run();
    throw error;
  }
}

/** Does work inside a transaction, all of it or none. Where SQLite has given up the whole transaction, so it stays. */
export async function savepoint<T>({ connection }: FileQueries, work: () => Promise<T>): Promise<T> {
  prepared(connection, 'SAVEPOINT work').run();
  try {
    const result = await work();
    prepared(connection, 'RELEASE work').run();
    return result;
  } catch (error) {
    if (connection.inTransaction) {
      prepared(connection, 'ROLLBACK TO work').run();
      prepared(connection, 'RELEASE work').run();
    }
    throw error;
  }
}
