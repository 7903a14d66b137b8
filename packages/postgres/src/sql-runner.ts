import {
  type BackgroundTask,
  type Queries,
  readVerbs,
  type SqlRunner,
  type Storage,
  sql,
  writeVerbs,
} from '@memoryd/core';
import type { Connection } from './connection.ts';

/** Reads that consist of one statement. Without a transaction, such a read saves two round trips. */
const SINGLE_STATEMENT_READS: ReadonlySet<string> = new Set<keyof typeof readVerbs>([
  ...(['memory', 'secret', 'namespaces', 'isMigrating', 'run', 'leastRetainedAfter', 'readKeys'] as const),
  ...(['unchangedTexts', 'importRun'] as const),
]);

/**
 * Creates the runner of reads and writes on a pool of connections. A write holds the advisory locks of its argument
 * `held`.
 */
export function createSqlRunner(connection: Connection, vacuum: BackgroundTask, quota: SqlRunner['quota']): SqlRunner {
  return {
    quota,
    read(verb, args) {
      const perform = readVerbs[verb] as (queries: Queries, ...args: readonly unknown[]) => Promise<unknown>;
      if (SINGLE_STATEMENT_READS.has(verb)) return perform(connection, ...args);
      return connection.snapshot((queries) => perform(queries, ...args));
    },
    write(held, verb, args) {
      const perform = writeVerbs[verb] as (queries: Queries, ...args: readonly unknown[]) => Promise<unknown>;
      if (held === 'nothing') return perform(connection, ...args);
      return connection.write(held, (transaction) => perform(transaction, ...args));
    },
    async purge(removed) {
      if (removed > 0) void vacuum.request();
      return removed === 0;
    },
    async sizeBytes() {
      const size = sql`SELECT pg_database_size(current_database()) AS bytes`;
      return (await connection.row<{ bytes: number }>(size))?.bytes ?? 0;
    },
  };
}

/** Maximum namespaces per transaction. A namespace needs a lock, and a server has space for a few thousand locks. */
const MAX_NAMESPACES = 256;

/** See `Storage.recordAccess`. */
export async function recordAccesses(
  connection: Connection,
  accesses: Parameters<Storage['recordAccess']>[0],
): Promise<void> {
  const namespaces = [...new Set(accesses.map((access) => access.namespace))];
  for (let from = 0; from < namespaces.length; from += MAX_NAMESPACES) {
    const batch = new Set(namespaces.slice(from, from + MAX_NAMESPACES));
    const batchAccesses = accesses.filter((access) => batch.has(access.namespace));
    await connection.write({ exclusiveNamespaces: [], shared: [...batch] }, (transaction) =>
      writeVerbs.recordAccess(transaction, batchAccesses),
    );
  }
}
