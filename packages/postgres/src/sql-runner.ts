import {
  type BackgroundTask,
  type MemoryAccess,
  type Queries,
  type Quotas,
  readVerbs,
  recordAccess,
  type SqlRunner,
  sql,
  writeVerbs,
} from '@memoryd/engine/storage-kit';
import type { Connection } from './connection.ts';

/** Reads of one statement, which is a snapshot by itself: they begin no transaction, and take one trip instead of three. */
const ONE_STATEMENT: ReadonlySet<string> = new Set<keyof typeof readVerbs>([
  ...(['memory', 'secret', 'namespaces', 'isMigrating', 'run', 'leastRetainedAfter', 'readKeys'] as const),
]);

/** Runs verbs on a pool of connections: a write has for itself what it names, by advisory locks. */
export function sqlRunner(connection: Connection, vacuum: BackgroundTask, quota: Quotas): SqlRunner {
  return {
    quota,
    read(verb, args) {
      const perform = readVerbs[verb] as (queries: Queries, ...args: readonly unknown[]) => Promise<unknown>;
      if (ONE_STATEMENT.has(verb)) return perform(connection, ...args);
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

/** Namespaces that one transaction writes of: each is a lock, of which a server has room for some thousands. */
const NAMESPACES_AT_ONCE = 256;

/** See `Storage.recordAccess`. */
export async function recordAccesses(connection: Connection, accesses: readonly MemoryAccess[]): Promise<void> {
  const namespaces = [...new Set(accesses.map((access) => access.namespace))];
  for (let from = 0; from < namespaces.length; from += NAMESPACES_AT_ONCE) {
    const some = new Set(namespaces.slice(from, from + NAMESPACES_AT_ONCE));
    const these = accesses.filter((access) => some.has(access.namespace));
    await connection.write({ exclusiveNamespaces: [], shared: [...some] }, (transaction) =>
      recordAccess(transaction, these),
    );
  }
}
