import { groupDigestOf } from '../group-digest.ts';
import type { Queries } from './queries.ts';
import { sql } from './sql.ts';

/** Stands for a group of memories with the texts that they have now, in whatever order they are named. */
export async function groupDigest(queries: Queries, namespace: string, ordinals: readonly number[]): Promise<Buffer> {
  return groupDigestOf(
    await queries.rows<{ id: string; revision: number }>(sql`
      SELECT m.id, m.revision FROM ${queries.dialect.ordinals('named', ordinals)} CROSS JOIN memory m
      WHERE m.namespace = ${namespace} AND m.ordinal = named.ordinal`),
  );
}

/** Whether a client has forgotten what was distilled from this group, as it is now. */
export async function isDeclined(queries: Queries, namespace: string, ordinals: readonly number[]): Promise<boolean> {
  const digest = await groupDigest(queries, namespace, ordinals);
  const declined = await queries.row(
    sql`SELECT 1 FROM declined_group WHERE namespace = ${namespace} AND digest = ${digest}`,
  );
  return declined !== undefined;
}
