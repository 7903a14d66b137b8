import type { Tier } from '@memoryd/contract';
import { IN_TIER } from './filters.ts';
import type { Queries, Transaction } from './queries.ts';
import { raw, sql } from './sql.ts';

/** Lets the next consolidation look at the groups of memories, if recall finds them and they were not distilled. */
export async function awaitDistilling(queries: Queries, namespace: string, ordinals: readonly number[]): Promise<void> {
  if (ordinals.length === 0) return;
  await queries.run(sql`
    INSERT INTO distil_candidate (namespace, ordinal)
    SELECT m.namespace, m.ordinal FROM memory m
    WHERE ${queries.dialect.isMemory('m.ordinal', namespace, ordinals)} AND ${raw(IN_TIER)}
      AND m.tier <> 'semantic'
    ON CONFLICT DO NOTHING`);
}

/** Lets memories be looked at for duplicates, unless they are semantic or were merged. */
export async function awaitMerging(queries: Queries, namespace: string, ordinals: readonly number[]): Promise<void> {
  if (ordinals.length === 0) return;
  await queries.run(sql`
    INSERT INTO merge_candidate (namespace, ordinal)
    SELECT namespace, ordinal FROM memory
    WHERE ${queries.dialect.isMemory('ordinal', namespace, ordinals)} AND tier <> 'semantic'
      AND merged_into IS NULL
    ON CONFLICT DO NOTHING`);
}

/** Lets the next consolidation look at new memories for duplicates and for what they say together. */
export async function awaitFirstConsolidation(
  queries: Queries,
  memories: readonly { namespace: string; ordinal: number; tier: Tier }[],
): Promise<void> {
  const rows = memories.filter(({ tier }) => tier !== 'semantic');
  for (const table of ['merge_candidate', 'distil_candidate']) await queries.insert(table, COLUMNS, rows);
}

const COLUMNS = { namespace: 'text', ordinal: 'bigint' } as const;

/** Lets recall find a memory that is in a tier again, and the next consolidation look at it. */
export async function enterAgain(transaction: Transaction, namespace: string, ordinal: number): Promise<void> {
  await transaction.recall.enter(namespace, ordinal);
  await awaitMerging(transaction, namespace, [ordinal]);
  await awaitDistilling(transaction, namespace, [ordinal]);
}

/** Lets a memory that waits for its vectors wait behind those that clients have written. */
export async function waitBehindOthers(queries: Queries, namespace: string, ordinal: number): Promise<void> {
  await queries.run(
    sql`UPDATE pending_embedding SET anew = true WHERE namespace = ${namespace} AND ordinal = ${ordinal}`,
  );
}

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
