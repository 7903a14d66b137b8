import type { OwnerFilter } from '@memoryd/search';
import { belongsTo } from '@memoryd/search';
import type { DeletedMemory, ForgetSelection } from '../ports/storage-memories.ts';
import { deleteKeys } from './api-keys.ts';
import { indexAndQueue } from './consolidation-queue.ts';
import { countUsage, readUsage } from './counters.ts';
import { hasNoMemories } from './empty-imports.ts';
import { isOfOwners, matching, unlessOfUsers } from './filters.ts';
import {
  type Erasable,
  type FoundMemory,
  findGroups,
  findMemory,
  findRemainingDuplicates,
  isCurrent,
  isInTier,
  selectNamed,
  toFilterFields,
  toMemoryAttributes,
} from './find-memory.ts';
import { countEntering, countLeaving, removeUsers, type TierMember } from './list-counters.ts';
import { takePage } from './memory-row.ts';
import { removeAttributes } from './memory-rows.ts';
import type { Dialect, Queries, Transaction } from './queries.ts';
import { textSize } from './read-page.ts';
import { forgetDistillingRules } from './requeue-passed-over.ts';
import { decline, removeSources } from './semantic-sources.ts';
import { raw, type Sql, sql } from './sql.ts';
import { addSuccessor, leaveSuccession } from './succession.ts';

/**
 * Maximum memories that one transaction of a bulk forget selects, so that other writers are not blocked for long. The
 * duplicates of the memories, which are deleted too, do not count.
 */
const MAX_FORGOTTEN_AT_ONCE = 100;

/**
 * Maximum bytes of the texts that one transaction deletes; a single text may be longer. SQLite looks up each word of the
 * texts in its index of words.
 */
const MAX_DELETED_BYTES = 1024 * 1024;

/** Returns the first memories whose texts one transaction can delete. */
export function takeDeletable<Row extends { bytes: number }>(rows: readonly Row[]): Row[] {
  const request = { limit: rows.length, maxBytes: MAX_DELETED_BYTES };
  const paging = { toItem: (row: Row) => row, getBytes: ({ bytes }: Row) => bytes, getPlace: () => undefined };
  return takePage(rows, request, 0, paging).items;
}

type Forgotten =
  | {
      outcome: 'forgotten';
      ordinals: number[];
      deleted: DeletedMemory[];
      alsoForgotten: string[];
      remainingDuplicates: string[];
    }
  | { outcome: 'unknown' }
  | { outcome: 'stale' };

/** Forgets a memory. The transaction must hold the lock of the namespace. See `Storage.forget`. */
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
  const deleted = await eraseGroups(transaction, namespace, [target]);
  const others = deleted.filter((memory) => memory.id !== id);
  return {
    outcome: 'forgotten',
    ordinals: deleted.map((memory) => memory.ordinal),
    deleted: [target, ...others].map(toDeleted),
    alsoForgotten: others.map((memory) => memory.id),
    remainingDuplicates,
  };
}

/**
 * Deletes memories, the duplicates merged into these memories, and the semantic memories that end without them. Returns
 * all deleted memories.
 *
 * @param options see `removeSources`
 */
export async function eraseGroups(
  transaction: Transaction,
  namespace: string,
  memories: readonly Pick<FoundMemory, 'id' | 'mergedInto'>[],
  options?: { keepOwnText: boolean },
): Promise<Erasable[]> {
  const groups = await findGroups(transaction, namespace, memories);
  const ordinals = groups.map((memory) => memory.ordinal);
  const deleted = [...groups, ...(await removeSources(transaction, namespace, ordinals, options))];
  await erase(transaction, namespace, deleted);
  await transaction.recall.noteErased();
  return deleted;
}

/**
 * Returns the highest ordinal in use, in PostgreSQL only of the namespace; 0 if there is none. All memories that the
 * namespace stores later have higher ordinals.
 */
export async function lastOrdinal(queries: Queries, namespace: string): Promise<number> {
  const last = await queries.row<{ ordinal: number | null }>(
    sql`SELECT max(ordinal) AS ordinal FROM memory WHERE ${queries.dialect.countsWith(namespace)}`,
  );
  return last?.ordinal ?? 0;
}

/**
 * Forgets one batch of the selected memories whose ordinal is at most `arrivedUntil`. See `eraseGroups`. Returns the
 * deleted memories.
 */
export async function forgetBatch(
  transaction: Transaction,
  namespace: string,
  selection: ForgetSelection,
  arrivedUntil: number,
): Promise<DeletedMemory[]> {
  const found = await transaction.rows<
    Pick<FoundMemory, 'id' | 'ordinal' | 'tier' | 'mergedInto'> & { bytes: number }
  >(sql`
    SELECT m.id, m.ordinal, m.tier, m.merged_into AS "mergedInto", ${textSize()} AS bytes FROM memory m
    WHERE ${selected(transaction.dialect, namespace, selection)} AND m.ordinal <= ${arrivedUntil}
    LIMIT ${MAX_FORGOTTEN_AT_ONCE}`);
  const batch = takeDeletable(found);
  for (const { tier, ordinal } of batch) {
    if (tier === 'semantic') await decline(transaction, namespace, ordinal);
  }
  const deleted = await eraseGroups(transaction, namespace, batch);
  if (batch.length === 0 && isOfOwnersAlone(selection)) await deleteRemainingData(transaction, namespace, selection);
  return deleted.map(toDeleted);
}

function isOfOwnersAlone({ userIds, agentIds, ...conditions }: ForgetSelection): boolean {
  return Object.values(conditions).every((condition) => condition === undefined);
}

/**
 * Deletes the remaining data of users and agents, once all their memories are deleted. Quotas of users stay, because
 * forgetting memories must not remove a limit. Hook settings stay, because it must not end a pause either.
 */
async function deleteRemainingData(transaction: Transaction, namespace: string, of: OwnerFilter): Promise<void> {
  for (const table of ['declined_group', 'idempotency_key']) {
    await transaction.run(sql`
      DELETE FROM ${raw(table)} AS m WHERE m.namespace = ${namespace} AND ${isOfOwners(transaction.dialect, of)}`);
  }
  // An import that has stored memories since the deletion began stays with them.
  await transaction.run(sql`
    DELETE FROM import_run AS m WHERE m.namespace = ${namespace} AND ${isOfOwners(transaction.dialect, of)}
      AND ${hasNoMemories('m')}`);
  // So does a change of these memories.
  await transaction.run(sql`
    DELETE FROM bulk_change AS m WHERE m.namespace = ${namespace} AND ${isOfOwners(transaction.dialect, of)}
      AND NOT EXISTS (SELECT 1 FROM changed_memory c WHERE c.namespace = m.namespace AND c.change = m.no)`);
}

export function toDeleted(memory: Erasable): DeletedMemory {
  const { id, userId, agentId } = memory;
  return { id, userId, agentId, ...toFilterFields(memory) };
}

function selected(dialect: Dialect, namespace: string, selection: ForgetSelection): Sql {
  const { tag, ids, createdBefore, ...others } = selection;
  if (Object.values(selection).every((condition) => condition === undefined)) {
    throw new Error('a bulk forget needs at least one condition, such as tag or createdBefore');
  }
  const among = ids && selectNamed(dialect, namespace, ids);
  const matches = matching(dialect, namespace, { ...others, ...(tag !== undefined && { tags: [tag] }) }, {}, among);
  if (createdBefore === undefined) return matches;
  return sql`${matches} AND ${unlessOfUsers(dialect, selection, 'created_at')} < ${createdBefore}`;
}

/** The tables with data of memories, each with the column that contains the ordinal of the memory. */
const TABLES = [
  ['memory_history', 'ordinal'],
  ['field_history', 'ordinal'],
  ['memory_attachment', 'ordinal'],
  ['memory_words', 'ordinal'],
  ['memory_access', 'ordinal'],
  ['imported_memory', 'ordinal'],
  ['changed_memory', 'ordinal'],
  ['consolidation_change', 'ordinal'],
  ['correction', 'earlier'],
  ['correction', 'later'],
  ['memory_source', 'semantic'],
  ['former_source', 'semantic'],
  ['memory', 'ordinal'],
] as const;

/** Deletes memories and their dependent rows, but not the semantic memories distilled from them. */
export async function erase(transaction: Transaction, namespace: string, memories: readonly Erasable[]): Promise<void> {
  if (memories.length === 0) return;
  const ordinals = memories.map((memory) => memory.ordinal);
  const taken = await readUsage(transaction, namespace, ordinals);
  await transaction.recall.remove(namespace, ordinals);
  await removeAttributes(transaction, memories.map(toMemoryAttributes));
  for (const [table, column] of TABLES) {
    await transaction.run(sql`
      DELETE FROM ${raw(table)} WHERE ${transaction.dialect.isMemory(column, namespace, ordinals)}`);
  }
  await relinkSuperseding(transaction, namespace, memories);
  // In reads of what was known before, a duplicate of a forgotten memory is a memory of its own.
  await transaction.run(sql`
    UPDATE field_history SET merged_into = NULL
    WHERE namespace = ${namespace} AND ${transaction.dialect.isIn(
      raw('merged_into'),
      memories.map(({ id }) => id),
    )}`);
  await leaveSuccession(transaction, namespace, ordinals);
  await countLeaving(transaction, memories.filter(isInTier));
  await countUsage(
    transaction,
    taken.map(({ userId, memories, bytes }) => ({ namespace, userId, memories: -memories, bytes: -bytes })),
  );
  await removeUsers(transaction, memories);
}

// If a deleted memory was superseded, links its successor to the memory that the deleted memory superseded or was
// merged into.
async function relinkSuperseding(
  transaction: Transaction,
  namespace: string,
  deleted: readonly Pick<Erasable, 'id' | 'supersedes' | 'mergedInto'>[],
): Promise<void> {
  const supersededByDeleted = new Map(deleted.map(({ id, supersedes, mergedInto }) => [id, supersedes ?? mergedInto]));
  const isOfDeleted = sql`namespace = ${namespace} AND ${transaction.dialect.isIn(raw('supersedes'), [...supersededByDeleted.keys()])}`;
  const getPassedTo = (superseded: string) => {
    let at: string | null | undefined = superseded;
    for (let steps = 0; at && supersededByDeleted.has(at); steps++)
      at = steps < deleted.length ? supersededByDeleted.get(at) : null;
    return at ?? null;
  };
  const superseding = await transaction.rows<{ id: string; supersedes: string }>(sql`
    SELECT id, supersedes FROM memory WHERE ${isOfDeleted}`);
  for (const { id, supersedes } of superseding) {
    const passedTo = getPassedTo(supersedes);
    await transaction.run(
      sql`UPDATE memory SET supersedes = ${passedTo === id ? null : passedTo} WHERE namespace = ${namespace} AND id = ${id}`,
    );
  }
  const earlier = await transaction.rows<{ supersedes: string }>(sql`
    SELECT DISTINCT supersedes FROM field_history WHERE ${isOfDeleted}`);
  for (const { supersedes } of earlier) {
    await transaction.run(sql`
      UPDATE field_history AS h SET supersedes = (
        SELECT nullif(CAST(${getPassedTo(supersedes)} AS text), m.id) FROM memory m
        WHERE m.namespace = ${namespace} AND m.ordinal = h.ordinal)
      WHERE namespace = ${namespace} AND supersedes = ${supersedes}`);
  }
}

/**
 * Deletes the semantic memories that were distilled from memories that have changed, or that no longer hold or exist for
 * recall. Queues their other sources, which the next run distills again if they still agree. A semantic memory whose
 * text a client wrote stays, without these sources.
 */
export async function endSummaries(
  transaction: Transaction,
  namespace: string,
  sources: readonly number[],
): Promise<void> {
  if (sources.length === 0) return;
  await erase(transaction, namespace, await removeSources(transaction, namespace, sources, { keepOwnText: true }));
}

/** Makes a memory supersede another one, and ends the summaries of what it supersedes. See `addSuccessor`. */
export async function supersede(
  transaction: Transaction,
  namespace: string,
  superseded: string,
  successor: number,
  at: number,
): Promise<void> {
  const linked = await addSuccessor(transaction, namespace, superseded, successor, at);
  await endSummaries(transaction, namespace, linked);
}

type MergedDuplicate = TierMember & Pick<FoundMemory, 'ordinal' | 'createdAt' | 'mergedInto' | 'evictedAt'>;

/**
 * Turns a merged duplicate into a separate memory. Indexes the duplicate unless it is evicted. Both it and its former
 * survivor stay superseded, because a correction concerns all memories with the text that it corrects.
 */
export async function detachDuplicate(transaction: Transaction, duplicate: MergedDuplicate): Promise<void> {
  const { namespace, ordinal, evictedAt } = duplicate;
  await transaction.run(
    sql`UPDATE memory SET merged_into = NULL WHERE namespace = ${namespace} AND ordinal = ${ordinal}`,
  );
  if (evictedAt !== null) return;
  await countEntering(transaction, [duplicate]);
  await indexAndQueue(transaction, namespace, ordinal);
}

/** Maximum memories that one transaction of `eraseBatch` selects, so that other writers are not blocked for long. */
const MAX_DELETED_AT_ONCE = 100;

/**
 * Deletes one batch of the memories of a namespace whose ordinal is at most `arrivedUntil`, with their duplicates.
 * Returns the number of deleted memories.
 */
export async function eraseBatch(transaction: Transaction, namespace: string, arrivedUntil: number): Promise<number> {
  // Deletes semantic memories first, because deleting a source would distill its semantic memory again.
  const semantic = await getFirst(
    transaction,
    namespace,
    sql`
    SELECT DISTINCT m.ordinal FROM memory m CROSS JOIN memory_source l
    WHERE m.namespace = ${namespace} AND m.tier = 'semantic' AND m.ordinal <= ${arrivedUntil}
      AND l.namespace = m.namespace AND l.semantic = m.ordinal`,
  );
  const batch =
    semantic.length > 0
      ? semantic
      : await getFirst(
          transaction,
          namespace,
          sql`
          SELECT ordinal FROM memory WHERE namespace = ${namespace} AND ordinal <= ${arrivedUntil}`,
        );
  return (await eraseGroups(transaction, namespace, batch)).length;
}

async function getFirst(transaction: Transaction, namespace: string, ordinals: Sql) {
  const found = await transaction.rows<Pick<FoundMemory, 'id' | 'mergedInto'> & { bytes: number }>(sql`
    SELECT m.id, m.merged_into AS "mergedInto", ${textSize()} AS bytes FROM (${ordinals} LIMIT ${MAX_DELETED_AT_ONCE}) AS first
    CROSS JOIN memory m WHERE m.namespace = ${namespace} AND m.ordinal = first.ordinal`);
  return takeDeletable(found);
}

const NAMESPACE_TABLES = [
  ...['consolidation_run', 'idempotency_key', 'declined_group', 'quota', 'hook_setting'],
  ...['imported_memory', 'import_run', 'changed_memory', 'bulk_change'],
];
const COUNTERS = ['tier_count', 'session_count', 'usage'];

/** Deletes the remaining data of a namespace. Counters stay if memories were stored during the deletion. */
export async function dropNamespace(transaction: Transaction, namespace: string): Promise<void> {
  await deleteKeys(transaction, namespace);
  await transaction.run(sql`
    DELETE FROM consolidation_change
    WHERE namespace = ${namespace} AND run IN (SELECT no FROM consolidation_run WHERE namespace = ${namespace})`);
  for (const table of NAMESPACE_TABLES) {
    await transaction.run(sql`DELETE FROM ${raw(table)} WHERE namespace = ${namespace}`);
  }
  for (const table of COUNTERS) {
    await transaction.run(sql`
      DELETE FROM ${raw(table)}
      WHERE namespace = ${namespace} AND NOT EXISTS (SELECT 1 FROM memory WHERE namespace = ${namespace})`);
  }
  await forgetDistillingRules(transaction, namespace);
  await transaction.recall.noteErased();
}
