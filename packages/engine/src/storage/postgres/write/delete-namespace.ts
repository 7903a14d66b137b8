import { deleteKeys } from '../../sql/api-keys.ts';
import { raw, type Sql, sql } from '../../sql/sql.ts';
import type { Connection, Transaction } from '../connection.ts';
import type { Target } from './find.ts';
import { eraseClusters, lastOrdinal } from './forget.ts';
import type { VacuumRequests } from './vacuum.ts';

/** Memories that one transaction erases, so that other writers get their turn. */
const ERASED_AT_ONCE = 100;

/** See `Storage.deleteNamespace`. Answers how many memories went. */
export async function deleteNamespace(
  connection: Connection,
  namespace: string,
  vacuum: VacuumRequests,
): Promise<number> {
  const arrivedUntil = await lastOrdinal(connection, namespace);
  await connection.write('keys', (transaction) => deleteKeys(transaction, namespace));
  const hold = { exclusive: namespace };
  const count = await vacuum.after(() =>
    connection.write(hold, (transaction) => eraseSome(transaction, namespace, arrivedUntil)),
  );
  await connection.write(hold, (transaction) => dropNamespace(transaction, namespace));
  return count;
}

/** Erases some of a namespace's memories that arrived up to an ordinal, with their twins; answers how many went. */
async function eraseSome(transaction: Transaction, namespace: string, arrivedUntil: number): Promise<number> {
  // Without the semantic memories, none has to be distilled again from what is left.
  const semantic = await firstOf(
    transaction,
    namespace,
    sql`
    SELECT DISTINCT semantic AS ordinal FROM memory_source
    WHERE namespace = ${namespace} AND semantic <= ${arrivedUntil}`,
  );
  const some =
    semantic.length > 0
      ? semantic
      : await firstOf(
          transaction,
          namespace,
          sql`
          SELECT ordinal FROM memory WHERE namespace = ${namespace} AND ordinal <= ${arrivedUntil}`,
        );
  return (await eraseClusters(transaction, namespace, some)).gone.length;
}

function firstOf(transaction: Transaction, namespace: string, ordinals: Sql) {
  return transaction.rows<Pick<Target, 'id' | 'mergedInto'>>(sql`
    SELECT m.id, m.merged_into AS "mergedInto" FROM (${ordinals} LIMIT ${ERASED_AT_ONCE}) AS first
    JOIN memory m ON m.namespace = ${namespace} AND m.ordinal = first.ordinal`);
}

const LEFT_BEHIND = ['sleep_change', 'sleep_run', 'idempotency_key', 'declined_group', 'namespace_quota'];
const COUNTERS = ['tier_count', 'namespace_usage'];

/** Deletes what else is kept of a namespace; counters stay where memories have been stored meanwhile. */
async function dropNamespace(transaction: Transaction, namespace: string): Promise<void> {
  await deleteKeys(transaction, namespace);
  for (const table of LEFT_BEHIND) {
    await transaction.run(sql`DELETE FROM ${raw(table)} WHERE namespace = ${namespace}`);
  }
  for (const table of COUNTERS) {
    await transaction.run(sql`
      DELETE FROM ${raw(table)}
      WHERE namespace = ${namespace} AND NOT EXISTS (SELECT 1 FROM memory WHERE namespace = ${namespace})`);
  }
}
