import { type Dialect, fromOrdinals, type Transaction } from './queries.ts';
import { raw, type Sql, sql } from './sql.ts';

/** The columns of `memory` whose earlier values stay in `field_history`. */
export const VERSIONED_COLUMNS = [
  'session_id',
  'source',
  'importance',
  'created_at',
  'updated_at',
  'valid_from',
  'valid_to',
  'supersedes',
  'merged_into',
  'version',
  'tags',
  'metadata',
] as const;

const COLUMNS = raw(VERSIONED_COLUMNS.join(', '));

/**
 * Stores the fields of memories in their history before the fields change. The caller must change them in the same
 * transaction. If `at` is before the last change of a memory, because the clock was set back, the time of the last change
 * is used instead. Of several changes at one time, only the fields before the first change are stored.
 *
 * @param options `isRegrouping`: whether the change merges the memories into others, or detaches
 * them
 */
export async function rememberFields(
  transaction: Transaction,
  namespace: string,
  ordinals: readonly number[],
  at: number,
  { isRegrouping = false } = {},
): Promise<void> {
  if (ordinals.length === 0) return;
  const { dialect } = transaction;
  await transaction.run(sql`
    INSERT INTO field_history (namespace, ordinal, until, regroups, ${COLUMNS})
    SELECT m.namespace, m.ordinal, CAST(${at} AS bigint), false, ${COLUMNS} FROM ${fromOrdinals(dialect, namespace, ordinals)}
    WHERE ${getLastChange(dialect, 'm')} < ${at}`);
  if (!isRegrouping) return;
  await transaction.run(sql`
    UPDATE field_history AS f SET regroups = true WHERE ${dialect.isMemory('ordinal', namespace, ordinals)} AND until = (
      SELECT max(h.until) FROM field_history h
      WHERE ${dialect.unindexed(raw('h.namespace'))} = f.namespace AND h.ordinal = f.ordinal)`);
}

/**
 * Returns an expression: the time of the last change of a row of `memory`, by default its storage time. The order and
 * the range keep PostgreSQL from reading all changes of the namespace in the index by time, and the mark of the namespace
 * keeps SQLite from it.
 */
function getLastChange(dialect: Dialect, memory: string): Sql {
  const name = raw(memory);
  return sql`coalesce((
    SELECT h.until FROM field_history h
    WHERE ${dialect.unindexed(raw('h.namespace'))} = ${name}.namespace AND h.ordinal BETWEEN ${name}.ordinal AND ${name}.ordinal
    ORDER BY h.ordinal DESC, h.until DESC LIMIT 1),
    ${name}.stored_at)`;
}

/**
 * Returns an expression: the time of a change of a row of `memory` at `at`, after `rememberFields`. It is never before
 * the storage time of the memory or an earlier change.
 */
export function getChangeTime(transaction: Transaction, memory: string, at: number): Sql {
  return sql`${transaction.dialect.greatest}(CAST(${at} AS bigint), ${getLastChange(transaction.dialect, memory)})`;
}
