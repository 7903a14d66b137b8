import type { Tier } from '@memoryd/contract';
import { IN_TIER } from './filters.ts';
import { fromOrdinals, type Queries, type Transaction } from './queries.ts';
import { raw, sql } from './sql.ts';

/**
 * Queues memories for distillation, except semantic, merged and evicted memories. Returns the number of memories that
 * were not queued before.
 */
export async function queueForDistilling(
  queries: Queries,
  namespace: string,
  ordinals: readonly number[],
): Promise<number> {
  if (ordinals.length === 0) return 0;
  return queries.run(sql`
    INSERT INTO distil_candidate (namespace, ordinal)
    SELECT m.namespace, m.ordinal FROM ${fromOrdinals(queries.dialect, namespace, ordinals)}
    WHERE ${raw(IN_TIER)}
      AND m.tier <> 'semantic'
    ON CONFLICT DO NOTHING`);
}

/** Queues memories for duplicate detection, except semantic memories, merged duplicates and evicted memories. */
export async function queueForMerging(queries: Queries, namespace: string, ordinals: readonly number[]): Promise<void> {
  if (ordinals.length === 0) return;
  await queries.run(sql`
    INSERT INTO merge_candidate (namespace, ordinal)
    SELECT m.namespace, m.ordinal FROM ${fromOrdinals(queries.dialect, namespace, ordinals)}
    WHERE ${raw(IN_TIER)}
      AND m.tier <> 'semantic'
    ON CONFLICT DO NOTHING`);
}

/** Queues new memories for duplicate detection and distilling. */
export async function queueNewMemories(
  queries: Queries,
  memories: readonly { namespace: string; ordinal: number; tier: Tier }[],
): Promise<void> {
  const rows = memories.filter(({ tier }) => tier !== 'semantic');
  for (const table of ['merge_candidate', 'distil_candidate']) await queries.insert(table, COLUMNS, rows);
}

const COLUMNS = { namespace: 'text', ordinal: 'bigint' } as const;

/** Indexes the current text of a stored memory, and queues the memory for consolidation. */
export async function indexAndQueue(transaction: Transaction, namespace: string, ordinal: number): Promise<void> {
  await transaction.recall.enter(namespace, ordinal);
  await queueForMerging(transaction, namespace, [ordinal]);
  await queueForDistilling(transaction, namespace, [ordinal]);
}

/** Moves a pending embedding behind the pending embeddings of memories that clients have written. */
export async function deferEmbedding(queries: Queries, namespace: string, ordinal: number): Promise<void> {
  await queries.run(
    sql`UPDATE pending_embedding SET reembed = true WHERE namespace = ${namespace} AND ordinal = ${ordinal}`,
  );
}
