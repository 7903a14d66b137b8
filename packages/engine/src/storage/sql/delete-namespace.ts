import { deleteKeys } from './api-keys.ts';
import type { FoundMemory } from './find-memory.ts';
import { eraseClusters } from './forget.ts';
import { raw, type Sql, sql } from './sql.ts';
import type { Transaction } from './transaction.ts';

/** Memories that one transaction erases, so that other writers get their turn. */
const ERASED_AT_ONCE = 100;

/** Erases some of a namespace's memories that arrived up to an ordinal, with their twins; answers how many went. */
export async function eraseSome(transaction: Transaction, namespace: string, arrivedUntil: number): Promise<number> {
  // Without the semantic memories, none has to be distilled again from what is left.
  const semantic = await firstOf(
    transaction,
    namespace,
    sql`
    SELECT DISTINCT m.ordinal FROM memory m CROSS JOIN memory_source l
    WHERE m.namespace = ${namespace} AND m.tier = 'semantic' AND m.ordinal <= ${arrivedUntil}
      AND l.namespace = m.namespace AND l.semantic = m.ordinal`,
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
  return transaction.rows<Pick<FoundMemory, 'id' | 'mergedInto'>>(sql`
    SELECT m.id, m.merged_into AS "mergedInto" FROM (${ordinals} LIMIT ${ERASED_AT_ONCE}) AS first
    CROSS JOIN memory m WHERE m.namespace = ${namespace} AND m.ordinal = first.ordinal`);
}

const LEFT_BEHIND = ['sleep_run', 'idempotency_key', 'declined_group', 'namespace_quota'];
const COUNTERS = ['tier_count', 'namespace_usage'];

/** Deletes what else is kept of a namespace; counters stay where memories have been stored meanwhile. */
export async function dropNamespace(transaction: Transaction, namespace: string): Promise<void> {
  await deleteKeys(transaction, namespace);
  await transaction.run(sql`
    DELETE FROM sleep_change
    WHERE namespace = ${namespace} AND run IN (SELECT no FROM sleep_run WHERE namespace = ${namespace})`);
  for (const table of LEFT_BEHIND) {
    await transaction.run(sql`DELETE FROM ${raw(table)} WHERE namespace = ${namespace}`);
  }
  for (const table of COUNTERS) {
    await transaction.run(sql`
      DELETE FROM ${raw(table)}
      WHERE namespace = ${namespace} AND NOT EXISTS (SELECT 1 FROM memory WHERE namespace = ${namespace})`);
  }
  await transaction.recall.noteErased();
}
