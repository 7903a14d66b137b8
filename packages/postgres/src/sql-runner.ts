import {
  type BackgroundTask,
  type Queries,
  type Quota,
  readVerbs,
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
export function sqlRunner(connection: Connection, vacuum: BackgroundTask, quota: Quota): SqlRunner {
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
