import type { Tier } from '@memoryd/contract';
import { IN_TIER } from '../conditions.ts';
import type { Queries } from './queries.ts';
import { raw, sql } from './sql.ts';
import type { Transaction } from './transaction.ts';

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
