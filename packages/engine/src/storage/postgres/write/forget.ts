import type { ForgetSelection, OnForgotten } from '../../../ports/storage-memories.ts';
import { TAG_ATTRIBUTE } from '../../attributes.ts';
import { hasAttribute } from '../../sql/filters.ts';
import type { Queries } from '../../sql/queries.ts';
import { join, raw, type Sql, sql } from '../../sql/sql.ts';
import { isCurrent } from '../../target.ts';
import { removeAttributes } from '../attributes.ts';
import type { Connection, Transaction } from '../connection.ts';
import { leaveRecall } from '../recall-entry.ts';
import { correctAnew, correctedBy } from './corrections.ts';
import { type Erasable, findClusters, findTarget, isInTier, labelsOf, type Target } from './find.ts';
import { decline, leaveDistilled } from './sources.ts';
import { countTiers } from './tiers.ts';
import { countUsage, takenByMemories } from './usage.ts';
import type { VacuumRequests } from './vacuum.ts';

/** Memories that one transaction of a bulk forget removes, so that other writers get their turn. */
const FORGET_AT_ONCE = 250;

export type Forgotten =
  | { outcome: 'forgotten'; ordinals: number[]; alsoForgotten: string[]; embedding: boolean }
  | { outcome: 'unknown' }
  | { outcome: 'stale' };

/**
 * Removes a memory and everything that holds its text, a twin's or a quote from them. The transaction has the namespace
 * for itself. See `Storage.forget`.
 */
export async function forget(
  transaction: Transaction,
  namespace: string,
  id: string,
  ifVersions?: number[],
): Promise<Forgotten> {
  const target = await findTarget(transaction, namespace, id);
  if (!target) return { outcome: 'unknown' };
  if (!isCurrent(target, ifVersions)) return { outcome: 'stale' };
  if (target.tier === 'semantic') await decline(transaction, namespace, target.ordinal);
  const { gone, embedding } = await eraseClusters(transaction, namespace, [target]);
  return {
    outcome: 'forgotten',
    ordinals: gone.map((memory) => memory.ordinal),
    alsoForgotten: gone.filter((memory) => memory.id !== id).map((memory) => memory.id),
    embedding,
  };
}

/**
 * Removes memories with their twins and what was distilled from them alone, and answers all of them; `embedding` says
 * whether what was distilled from others too now waits for new vectors.
 *
 * @param options see `leaveDistilled`
 */
export async function eraseClusters(
  transaction: Transaction,
  namespace: string,
  memories: readonly Pick<Target, 'id' | 'mergedInto'>[],
  options?: { keepsOwn: boolean },
): Promise<{ gone: Erasable[]; embedding: boolean }> {
  const clusters = await findClusters(transaction, namespace, memories);
  const ordinals = clusters.map((memory) => memory.ordinal);
  const { emptied, embedding } = await leaveDistilled(transaction, namespace, ordinals, options);
  const gone = [...clusters, ...emptied];
  await erase(transaction, namespace, gone);
  return { gone, embedding };
}

/** The last ordinal that a memory of a namespace has. */
export async function lastOrdinal(queries: Queries, namespace: string): Promise<number> {
  const last = await queries.row<{ ordinal: number | null }>(
    sql`SELECT max(ordinal) AS ordinal FROM memory WHERE namespace = ${namespace}`,
  );
  return last?.ordinal ?? 0;
}

/** See `Storage.forgetMany`. */
export async function forgetMany(
  connection: Connection,
  namespace: string,
  selection: ForgetSelection,
  { vacuum, onForgotten }: { vacuum: VacuumRequests; onForgotten?: OnForgotten | undefined },
): Promise<{ count: number; embedding: boolean; purged: boolean }> {
  // What is stored from now on is not meant, however long this takes.
  const arrivedUntil = await lastOrdinal(connection, namespace);
  let embedding = false;
  const count = await vacuum.after(async () => {
    const some = await connection.write({ exclusive: namespace }, (transaction) =>
      forgetSome(transaction, namespace, selection, arrivedUntil),
    );
    if (some.count > 0) onForgotten?.(some);
    embedding ||= some.embedding;
    return some.count;
  });
  return { count, embedding, purged: count === 0 };
}

/**
 * Removes some of the memories that a selection names among those that arrived up to an ordinal, with their twins and what
 * was distilled from them alone; answers how many went.
 */
async function forgetSome(
  transaction: Transaction,
  namespace: string,
  selection: ForgetSelection,
  arrivedUntil: number,
): Promise<{ count: number; embedding: boolean }> {
  const some = await transaction.rows<Pick<Target, 'id' | 'ordinal' | 'tier' | 'mergedInto'>>(sql`
    SELECT m.id, m.ordinal, m.tier, m.merged_into AS "mergedInto" FROM memory m
    WHERE m.namespace = ${namespace} AND m.ordinal <= ${arrivedUntil} AND ${selected(namespace, selection)}
    LIMIT ${FORGET_AT_ONCE}`);
  for (const { tier, ordinal } of some) {
    if (tier === 'semantic') await decline(transaction, namespace, ordinal);
  }
  const { gone, embedding } = await eraseClusters(transaction, namespace, some);
  return { count: gone.length, embedding };
}

function selected(namespace: string, selection: ForgetSelection): Sql {
  const { tag, sessionId, source, createdBefore } = selection;
  const conditions: Sql[] = [];
  if (tag !== undefined) conditions.push(hasAttribute(namespace, TAG_ATTRIBUTE, tag));
  if (sessionId !== undefined) conditions.push(sql`m.session_id = ${sessionId}`);
  if (source !== undefined) conditions.push(sql`m.source = ${source}`);
  if (createdBefore !== undefined) conditions.push(sql`m.created_at < ${createdBefore}`);
  if (conditions.length === 0) throw new Error('forgetting many needs a condition');
  return join(conditions, ' AND ');
}

const OF_A_MEMORY = ['memory_history', 'memory_access', 'sleep_change'];
const OF_A_SEMANTIC_MEMORY = ['memory_source', 'former_source'];

/** Removes memories and all that hangs on them, but for what was distilled from them. */
export async function erase(transaction: Transaction, namespace: string, memories: readonly Erasable[]): Promise<void> {
  if (memories.length === 0) return;
  const ordinals = memories.map((memory) => memory.ordinal);
  const taken = await takenByMemories(transaction, namespace, ordinals);
  await leaveRecall(transaction, namespace, ordinals);
  await removeAttributes(transaction, memories.map(labelsOf));
  const deletions = [
    ...OF_A_MEMORY.map((table) => [table, 'ordinal']),
    ...OF_A_SEMANTIC_MEMORY.map((table) => [table, 'semantic']),
  ].map(
    ([table, column]) => sql`${raw(`of_${table}`)} AS (DELETE FROM ${raw(`${table}`)}
      WHERE namespace = ${namespace} AND ${raw(`${column}`)} = ANY(${ordinals}::bigint[]))`,
  );
  await transaction.run(sql`
    WITH ${join(deletions, ', ')}
    DELETE FROM memory WHERE namespace = ${namespace} AND ordinal = ANY(${ordinals}::bigint[])`);
  const gone = memories.map(({ id }) => id);
  await passOnCorrections(transaction, namespace, memories);
  await correctAnew(transaction, namespace, await correctedBy(transaction, namespace, gone));
  const counted = memories.filter(isInTier).map(({ tier }) => ({ namespace, tier, count: -1 }));
  await countTiers(transaction, counted);
  await countUsage(transaction, [{ namespace, memories: -taken.memories, bytes: -taken.bytes }]);
}

// What corrects a memory that is gone now corrects what that corrected itself.
async function passOnCorrections(
  transaction: Transaction,
  namespace: string,
  gone: readonly Pick<Erasable, 'id' | 'supersedes'>[],
): Promise<void> {
  const corrected = new Map(gone.map(({ id, supersedes }) => [id, supersedes]));
  const left = gone.map(({ id }) => {
    let at: string | null | undefined = id;
    for (let steps = 0; at && corrected.has(at); steps++) at = steps < gone.length ? corrected.get(at) : null;
    return at ?? null;
  });
  await transaction.run(sql`
    UPDATE memory m SET supersedes = nullif(gone.left_over, m.id)
    FROM unnest(${gone.map(({ id }) => id)}::text[], ${left}::text[]) AS gone(id, left_over)
    WHERE m.namespace = ${namespace} AND m.supersedes = gone.id`);
}
