import { deleteKeys } from '../../sql/api-keys.ts';
import { type Connection, sql } from '../connection.ts';
import type { FileQueries } from '../queries.ts';
import { findTarget } from './find.ts';
import { eraseCluster } from './forget.ts';
import { askForPurge } from './purge.ts';

const FIRST_OF = {
  semantic: `SELECT id FROM memory INDEXED BY memory_by_tier
    WHERE namespace = ? AND tier = 'semantic' AND ordinal <= ? LIMIT ?`,
  any: 'SELECT id FROM memory WHERE namespace = ? AND ordinal <= ? LIMIT ?',
};

/** Erases up to `limit` of a namespace's memories that arrived up to an ordinal, with their twins; answers how many went. */
export function eraseSome(connection: Connection, namespace: string, arrivedUntil: number, limit: number): number {
  const ids = (which: keyof typeof FIRST_OF) =>
    sql(connection, FIRST_OF[which]).pluck().all(namespace, arrivedUntil, limit) as string[];
  // Without the semantic memories, none has to be distilled again from what is left.
  const semantic = ids('semantic');
  let count = 0;
  for (const id of semantic.length > 0 ? semantic : ids('any')) {
    const target = findTarget(connection, namespace, id);
    // An earlier one of these may have been its twin.
    if (target) count += eraseCluster(connection, namespace, target).gone.length;
  }
  return count;
}

const LEFT_BEHIND = ['sleep_run', 'idempotency_key', 'declined_group', 'namespace_quota'];
const COUNTERS = ['tier_count', 'namespace_usage'];

/** Deletes what else is kept of a namespace; counters stay where memories have been stored meanwhile. */
export async function dropNamespace(queries: FileQueries, namespace: string): Promise<void> {
  const { connection } = queries;
  await deleteKeys(queries, namespace);
  sql(connection, 'DELETE FROM sleep_change WHERE run IN (SELECT no FROM sleep_run WHERE namespace = ?)').run(
    namespace,
  );
  for (const table of LEFT_BEHIND) sql(connection, `DELETE FROM ${table} WHERE namespace = ?`).run(namespace);
  for (const table of COUNTERS) {
    sql(
      connection,
      `DELETE FROM ${table} WHERE namespace = @namespace AND NOT EXISTS (SELECT 1 FROM memory WHERE namespace = @namespace)`,
    ).run({ namespace });
  }
  askForPurge(connection);
}
