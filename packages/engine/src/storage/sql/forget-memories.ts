import { belongsTo, groupedByOwner } from '../../core/owner.ts';
import type { ForgetSelection } from '../../ports/storage-memories.ts';
import type { OwnedCount, Owner, OwnerFilter } from '../../ports/storage-owner.ts';
import { deleteKeys } from './api-keys.ts';
import { correctAnew, correctedBy, enterAgain } from './candidates.ts';
import { countTiers, countUsage, takenByMemories } from './counters.ts';
import { isOfOwners, matching, unlessOfUsers } from './filters.ts';
import {
  type Erasable,
  type FoundMemory,
  findGroups,
  findMemory,
  findRemainingDuplicates,
  isCurrent,
  isInTier,
  toLabelled,
} from './find-memory.ts';
import { removeAttributes } from './memory-rows.ts';
import type { Dialect, Queries, Transaction } from './queries.ts';
import { decline, leaveDistilled } from './semantic-sources.ts';
import { raw, type Sql, sql } from './sql.ts';

/** Memories that one transaction of a bulk forget removes, so that other writers get their turn. */
const FORGET_AT_ONCE = 100;

type Forgotten =
  | {
      outcome: 'forgotten';
      owner: Owner;
      ordinals: number[];
      alsoForgotten: string[];
      remainingDuplicates: string[];
      embedding: boolean;
    }
  | { outcome: 'unknown' }
  | { outcome: 'stale' };

/** Removes a memory. The transaction has the namespace for itself. See `Storage.forget`. */
export async function forget(
  transaction: Transaction,
  namespace: string,
  id: string,
  { ifVersions, of = {} }: { ifVersions?: number[]; of?: OwnerFilter } = {},
): Promise<Forgotten> {
  const target = await findMemory(transaction, namespace, id);
  if (!target || !belongsTo(target, of)) return { outcome: 'unknown' };
  if (!isCurrent(target, ifVersions)) return { outcome: 'stale' };
  if (target.tier === 'semantic') await decline(transaction, namespace, target.ordinal);
  const remainingDuplicates = await findRemainingDuplicates(transaction, target);
  const { gone, embedding } = await eraseGroups(transaction, namespace, [target]);
  return {
    outcome: 'forgotten',
    owner: { userId: target.userId, agentId: target.agentId },
    ordinals: gone.map((memory) => memory.ordinal),
    alsoForgotten: gone.filter((memory) => memory.id !== id).map((memory) => memory.id),
    remainingDuplicates,
    embedding,
  };
}

/**
 * Removes memories, the hidden duplicates of those that are visible, and what was distilled from them alone. Returns all
 * that it removed; `embedding` says whether what was distilled from others too now waits for new vectors.
 *
 * @param options see `leaveDistilled`
 */
export async function eraseGroups(
  transaction: Transaction,
  namespace: string,
  memories: readonly Pick<FoundMemory, 'id' | 'mergedInto'>[],
  options?: { keepsOwn: boolean },
): Promise<{ gone: Erasable[]; embedding: boolean }> {
  const groups = await findGroups(transaction, namespace, memories);
  const ordinals = groups.map((memory) => memory.ordinal);
  const { emptied, embedding } = await leaveDistilled(transaction, namespace, ordinals, options);
  const gone = [...groups, ...emptied];
  await erase(transaction, namespace, gone);
  await transaction.recall.noteErased();
  return { gone, embedding };
}

/** Returns an ordinal that no memory which comes to a namespace later has or is below. */
export async function lastOrdinal(queries: Queries, namespace: string): Promise<number> {
  const last = await queries.row<{ ordinal: number | null }>(
    sql`SELECT max(ordinal) AS ordinal FROM memory WHERE ${queries.dialect.countsWith(namespace)}`,
  );
  return last?.ordinal ?? 0;
}

/**
 * Removes some of the memories that a selection names among those that arrived up to an ordinal, with their duplicates and what
 * was distilled from them alone. Returns how many went.
 */
export async function forgetSome(
  transaction: Transaction,
  namespace: string,
  selection: ForgetSelection,
  arrivedUntil: number,
): Promise<{ owned: OwnedCount[]; embedding: boolean }> {
  const some = await transaction.rows<Pick<FoundMemory, 'id' | 'ordinal' | 'tier' | 'mergedInto'>>(sql`
    SELECT m.id, m.ordinal, m.tier, m.merged_into AS "mergedInto" FROM memory m
    WHERE ${selected(transaction.dialect, namespace, selection)} AND m.ordinal <= ${arrivedUntil}
    LIMIT ${FORGET_AT_ONCE}`);
  for (const { tier, ordinal } of some) {
    if (tier === 'semantic') await decline(transaction, namespace, ordinal);
  }
  const { gone, embedding } = await eraseGroups(transaction, namespace, some);
  if (some.length === 0 && isOfOwnersAlone(selection)) await dropRemains(transaction, namespace, selection);
  return { owned: countByOwner(gone), embedding };
}

function isOfOwnersAlone({ userIds, agentIds, ...conditions }: ForgetSelection): boolean {
  return Object.values(conditions).every((condition) => condition === undefined);
}

/** Deletes what else is kept of users and agents of whom no memory is left. */
async function dropRemains(transaction: Transaction, namespace: string, of: OwnerFilter): Promise<void> {
  for (const table of ['declined_group', 'idempotency_key']) {
    await transaction.run(sql`
      DELETE FROM ${raw(table)} AS m WHERE m.namespace = ${namespace} AND ${isOfOwners(transaction.dialect, of)}`);
  }
  const { userIds } = of;
  if (!userIds) return;
  // Their quotas stay: forgetting must not lift a limit.
  await transaction.run(sql`
    DELETE FROM usage AS m WHERE m.namespace = ${namespace} AND m.user_id <> ''
      AND ${isOfOwners(transaction.dialect, { userIds })}
      AND NOT EXISTS (SELECT 1 FROM memory k WHERE k.namespace = m.namespace AND k.user_id = m.user_id AND k.user_id <> '')`);
}

function countByOwner(memories: readonly Owner[]): OwnedCount[] {
  return groupedByOwner(memories).map(([{ userId, agentId }, owned]) => ({ userId, agentId, count: owned.length }));
}

function selected(dialect: Dialect, namespace: string, selection: ForgetSelection): Sql {
  const { tag, createdBefore, ...others } = selection;
  if (Object.values(selection).every((condition) => condition === undefined)) {
    throw new Error('forgetting many needs a condition');
  }
  const matches = matching(dialect, namespace, { ...others, ...(tag !== undefined && { tags: [tag] }) });
  if (createdBefore === undefined) return matches;
  return sql`${matches} AND ${unlessOfUsers(dialect, selection, 'created_at')} < ${createdBefore}`;
}

/** The tables that hold memories, by the column that names them. */
const TABLES = [
  ['memory_history', 'ordinal'],
  ['memory_access', 'ordinal'],
  ['consolidation_change', 'ordinal'],
  ['memory_source', 'semantic'],
  ['former_source', 'semantic'],
  ['memory', 'ordinal'],
] as const;

/** Removes memories and all that hangs on them, but for what was distilled from them. */
export async function erase(transaction: Transaction, namespace: string, memories: readonly Erasable[]): Promise<void> {
  if (memories.length === 0) return;
  const ordinals = memories.map((memory) => memory.ordinal);
  const taken = await takenByMemories(transaction, namespace, ordinals);
  await transaction.recall.remove(namespace, ordinals);
  await removeAttributes(transaction, memories.map(toLabelled));
  for (const [table, column] of TABLES) {
    await transaction.run(sql`
      DELETE FROM ${raw(table)} WHERE ${transaction.dialect.isMemory(column, namespace, ordinals)}`);
  }
  const gone = memories.map(({ id }) => id);
  await passOnCorrections(transaction, namespace, memories);
  await correctAnew(transaction, namespace, await correctedBy(transaction, namespace, gone));
  const counted = memories.filter(isInTier).map(({ tier }) => ({ namespace, tier, count: -1 }));
  await countTiers(transaction, counted);
  await countUsage(
    transaction,
    taken.map(({ userId, memories, bytes }) => ({ namespace, userId, memories: -memories, bytes: -bytes })),
  );
}

// What corrects a memory that is gone now corrects what that corrected itself, or the memory that it was merged into.
async function passOnCorrections(
  transaction: Transaction,
  namespace: string,
  gone: readonly Pick<Erasable, 'id' | 'supersedes' | 'mergedInto'>[],
): Promise<void> {
  const corrected = new Map(gone.map(({ id, supersedes, mergedInto }) => [id, supersedes ?? mergedInto]));
  const correcting = await transaction.rows<{ id: string; supersedes: string }>(sql`
    SELECT id, supersedes FROM memory
    WHERE namespace = ${namespace} AND ${transaction.dialect.isIn(raw('supersedes'), [...corrected.keys()])}`);
  for (const { id, supersedes } of correcting) {
    let at: string | null | undefined = supersedes;
    for (let steps = 0; at && corrected.has(at); steps++) at = steps < gone.length ? corrected.get(at) : null;
    const passedTo = at === undefined || at === id ? null : at;
    await transaction.run(
      sql`UPDATE memory SET supersedes = ${passedTo} WHERE namespace = ${namespace} AND id = ${id}`,
    );
  }
}

type MergedDuplicate = Pick<FoundMemory, 'namespace' | 'ordinal' | 'tier' | 'mergedInto' | 'evictedAt'>;

/** Makes a merged duplicate a memory of its own, in recall unless it was evicted; what corrects it corrects it alone. */
export async function setFree(
  transaction: Transaction,
  { namespace, ordinal, tier, mergedInto, evictedAt }: MergedDuplicate,
): Promise<void> {
  const freed = await transaction.row<{ correctedBy: string | null }>(sql`
    UPDATE memory SET merged_into = NULL WHERE namespace = ${namespace} AND ordinal = ${ordinal}
    RETURNING superseded_by AS "correctedBy"`);
  if (freed?.correctedBy != null && mergedInto !== null) await correctAnew(transaction, namespace, [mergedInto]);
  if (evictedAt !== null) return;
  await countTiers(transaction, [{ namespace, tier, count: 1 }]);
  await enterAgain(transaction, namespace, ordinal);
}

/** Memories that one transaction erases, so that other writers get their turn. */
const ERASED_AT_ONCE = 100;

/** Erases some of a namespace's memories that arrived up to an ordinal, with their duplicates; answers how many went. */
export async function eraseSome(transaction: Transaction, namespace: string, arrivedUntil: number): Promise<number> {
  // Without the semantic memories, none has to be distilled again from what is left.
  const semantic = await getFirst(
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
      : await getFirst(
          transaction,
          namespace,
          sql`
          SELECT ordinal FROM memory WHERE namespace = ${namespace} AND ordinal <= ${arrivedUntil}`,
        );
  return (await eraseGroups(transaction, namespace, some)).gone.length;
}

function getFirst(transaction: Transaction, namespace: string, ordinals: Sql) {
  return transaction.rows<Pick<FoundMemory, 'id' | 'mergedInto'>>(sql`
    SELECT m.id, m.merged_into AS "mergedInto" FROM (${ordinals} LIMIT ${ERASED_AT_ONCE}) AS first
    CROSS JOIN memory m WHERE m.namespace = ${namespace} AND m.ordinal = first.ordinal`);
}

const LEFT_BEHIND = ['consolidation_run', 'idempotency_key', 'declined_group', 'quota'];
const COUNTERS = ['tier_count', 'usage'];

/** Deletes what else is kept of a namespace; counters stay where memories have been stored meanwhile. */
export async function dropNamespace(transaction: Transaction, namespace: string): Promise<void> {
  await deleteKeys(transaction, namespace);
  await transaction.run(sql`
    DELETE FROM consolidation_change
    WHERE namespace = ${namespace} AND run IN (SELECT no FROM consolidation_run WHERE namespace = ${namespace})`);
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
