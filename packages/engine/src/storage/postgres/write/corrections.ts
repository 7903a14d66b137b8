import type { Queries } from '../../sql/queries.ts';
import { raw, sql } from '../../sql/sql.ts';
import type { Transaction } from '../connection.ts';
import { awaitDistilling } from '../recall-entry.ts';
import { memoriesBy } from '../row.ts';

/** The ids of the memories that rank below any of some. */
export async function correctedBy(queries: Queries, namespace: string, by: readonly string[]): Promise<string[]> {
  const rows = await queries.rows<{ id: string }>(
    sql`SELECT id FROM memory WHERE namespace = ${namespace} AND superseded_by = ANY(${by}::text[])`,
  );
  return rows.map(({ id }) => id);
}

/** Lets memories be corrected by the newest that names them or a twin merged into them, or by none. */
export async function correctAnew(transaction: Transaction, namespace: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const changed = await transaction.rows<{ ordinal: number }>(sql`
    UPDATE memory m SET superseded_by = newest.id
    FROM (
      SELECT corrected.id AS of, (
        SELECT s.id FROM (
          SELECT corrected.id UNION ALL
          SELECT t.id FROM memory t WHERE t.namespace = ${namespace} AND t.merged_into = corrected.id) AS named(id)
        CROSS JOIN ${memoriesBy('s', sql`namespace = ${namespace} AND supersedes = ${raw('named.id')}`)}
        ORDER BY s.ordinal DESC LIMIT 1) AS id
      FROM unnest(${ids}::text[]) AS corrected(id)) AS newest
    WHERE m.namespace = ${namespace} AND m.id = newest.of AND m.superseded_by IS DISTINCT FROM newest.id
    RETURNING m.ordinal`);
  // They may be sources again of what they left when they were corrected.
  await awaitDistilling(
    transaction,
    namespace,
    changed.map(({ ordinal }) => ordinal),
  );
}
