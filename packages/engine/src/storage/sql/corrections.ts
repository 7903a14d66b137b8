import { awaitDistilling } from './candidates.ts';
import type { Queries } from './queries.ts';
import { raw, sql } from './sql.ts';

/** Returns the ids of the memories that rank below any of some. */
export async function correctedBy(queries: Queries, namespace: string, by: readonly string[]): Promise<string[]> {
  const rows = await queries.rows<{ id: string }>(sql`
    SELECT id FROM memory WHERE namespace = ${namespace} AND ${queries.dialect.isIn(raw('superseded_by'), by)}`);
  return rows.map(({ id }) => id);
}

/** Lets memories be corrected by the newest that names them or a duplicate merged into them, or by none. */
export async function correctAnew(queries: Queries, namespace: string, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const newest = await newestThatNames(queries, namespace, id);
    const changed = await queries.rows<{ ordinal: number }>(sql`
      UPDATE memory SET superseded_by = ${newest}
      WHERE namespace = ${namespace} AND id = ${id} AND superseded_by IS DISTINCT FROM CAST(${newest} AS text)
      RETURNING ordinal`);
    // It may be a source again of what it left when it was corrected.
    const ordinals = changed.map(({ ordinal }) => ordinal);
    await awaitDistilling(queries, namespace, ordinals);
  }
}

async function newestThatNames(queries: Queries, namespace: string, id: string): Promise<string | null> {
  const merged = await queries.rows<{ id: string }>(
    sql`SELECT id FROM memory WHERE namespace = ${namespace} AND merged_into = ${id}`,
  );
  const named = [id, ...merged.map((memory) => memory.id)];
  const newest = await queries.row<{ id: string }>(sql`
    SELECT id FROM memory WHERE namespace = ${namespace} AND ${queries.dialect.isIn(raw('supersedes'), named)}
    ORDER BY ordinal DESC LIMIT 1`);
  return newest?.id ?? null;
}
