import { LIMITS } from '@memoryd/contract/limits';
import { type Owner, type OwnerFilter, splitFilter } from '@memoryd/search';
import type { ChangeCounts, ChangedMemory, ChangeSelection, ManyChanges, NewChange } from '../ports/storage-changes.ts';
import type { StepResult } from '../ports/storage-consolidation.ts';
import { queueForMerging } from './consolidation-queue.ts';
import { fromJson } from './corruption.ts';
import { rememberFields } from './field-history.ts';
import { holders, isOfOwners, isOfUsers, liveAndPassing } from './filters.ts';
import { type Erasable, findNamed, fromIds, getRefusal, planUpdate, toMemoryAttributes } from './find-memory.ts';
import { lastOrdinal, toDeleted } from './forget-memories.ts';
import { type ChangedLabels, getNewLabels, getRestoredLabels, pickLabels, toLabels } from './label-changes.ts';
import { replaceAttributes } from './memory-rows.ts';
import { selectByWords } from './memory-words.ts';
import type { Dialect, Queries, Transaction } from './queries.ts';
import { NO_QUOTAS, readRooms } from './quotas.ts';
import { raw, type Sql, sql } from './sql.ts';
import { changeMemory } from './update-memory.ts';

/** Maximum memories that one transaction changes, so that other writers are not blocked for long. */
export const MAX_CHANGED_AT_ONCE = 25;

/**
 * Maximum memories that are selected at once, so that a large selection does not fill the memory of the process. Each
 * selection reads all memories with the attribute or words.
 */
const MAX_SELECTED_AT_ONCE = 100_000;

/**
 * Maximum expired records that a change deletes as it begins, and with each batch: twice as many as it adds, so that old
 * records do not accumulate without consolidation.
 */
const MAX_DROPPED_AT_ONCE = 2 * MAX_CHANGED_AT_ONCE;

/**
 * Time after its end from which a change deletes the record of another one. Until then, only consolidation deletes it,
 * which knows whether the clock was set forward by mistake.
 */
const DROPPED_AFTER_MS = 24 * 60 * 60 * 1000;

type Begun = { outcome: 'begun'; no: number } | { outcome: 'conflict' } | { outcome: 'undone' };

/**
 * Records a change of many memories, or finds the record that it continues. The transaction must hold the lock of the
 * namespace.
 */
export async function beginChange(
  transaction: Transaction,
  namespace: string,
  { id, userId, agentId, digest }: Pick<NewChange, 'id' | 'digest' | keyof Owner>,
  at: number,
): Promise<Begun> {
  await dropChanges(transaction, at - DROPPED_AFTER_MS, MAX_DROPPED_AT_ONCE);
  const hasId = sql`namespace = ${namespace} AND user_id = ${userId} AND agent_id = ${agentId} AND id = ${id}`;
  const known = await transaction.row<Pick<ChangeRow, 'no' | 'state'> & { digest: string }>(
    sql`SELECT no, state, digest FROM bulk_change WHERE ${hasId} AND expires_at > ${at} ORDER BY no DESC LIMIT 1`,
  );
  if (known && known.digest !== digest) return { outcome: 'conflict' };
  if (known && known.state !== 'made') return { outcome: 'undone' };
  if (known) return { outcome: 'begun', no: known.no };
  const begun = (await transaction.row<Pick<ChangeRow, 'no'>>(sql`
    INSERT INTO bulk_change (namespace, id, user_id, agent_id, digest, expires_at, arrived_until)
    VALUES (${namespace}, ${id}, ${userId}, ${agentId}, ${digest}, ${at + LIMITS.changeUndoMs},
      ${await lastOrdinal(transaction, namespace)})
    RETURNING no`)) as Pick<ChangeRow, 'no'>;
  return { outcome: 'begun', no: begun.no };
}

/** The record of a change. `doneUntil`: ordinal of the last memory that the change has looked at. */
interface ChangeRow {
  no: number;
  state: 'made' | 'undoing' | 'undone';
  doneUntil: number;
  arrivedUntil: number;
}

function isChange(namespace: string, no: number): Sql {
  return sql`namespace = ${namespace} AND no = ${no}`;
}

function findChange(queries: Queries, namespace: string, no: number): Promise<ChangeRow | undefined> {
  return queries.row<ChangeRow>(sql`
    SELECT no, state, done_until AS "doneUntil", arrived_until AS "arrivedUntil" FROM bulk_change
    WHERE ${isChange(namespace, no)}`);
}

/** A part of the memories that a change has to look at. `more`: true if others may follow. */
interface Selected {
  ordinals: number[];
  more: boolean;
}

/** Returns the ordinals of the next memories that a change has to look at, in order. Must run in a snapshot. */
export async function selectForChange(
  queries: Queries,
  namespace: string,
  no: number,
  selection: ChangeSelection,
  now: number,
): Promise<Selected> {
  const change = await findChange(queries, namespace, no);
  if (!change) return { ordinals: [], more: false };
  const { dialect } = queries;
  const rows = await queries.rows<{ ordinal: number }>(sql`
    SELECT m.ordinal FROM ${fromCandidates(dialect, namespace, selection)}
    WHERE ${isSelected(dialect, namespace, selection, now)}
      AND m.ordinal > ${change.doneUntil} AND m.ordinal <= ${change.arrivedUntil}
    ORDER BY m.ordinal LIMIT ${MAX_SELECTED_AT_ONCE}`);
  return { ordinals: rows.map(({ ordinal }) => ordinal), more: rows.length === MAX_SELECTED_AT_ONCE };
}

/**
 * Returns memories that include those of a selection, for FROM, as `memory m`. Each is looked up by its key, because
 * without statistics PostgreSQL could read all holders of a tag for each memory.
 */
function fromCandidates(dialect: Dialect, namespace: string, { filter, ids }: ChangeSelection): Sql {
  if (ids) return fromIds(dialect, namespace, ids);
  const isOfMany = filter.externalId === undefined;
  const [attribute] = isOfUsers(filter) && isOfMany ? [] : splitFilter(filter).required;
  const found = filter.words
    ? selectByWords(dialect, namespace, filter.words, filter)
    : attribute && holders(dialect, namespace, attribute);
  if (!found) return raw('memory m');
  return sql`(${found}) AS i ${dialect.joinMemory('m', { namespace: sql`${namespace}`, ordinal: raw('i.ordinal') })}`;
}

/** Returns a condition on `memory m`: it matches the selection as in a list. Does not look at the ids. */
function isSelected(dialect: Dialect, namespace: string, { filter, ids }: ChangeSelection, now: number): Sql {
  return liveAndPassing(dialect, namespace, filter, now, 'each', ids && true);
}

/** A batch of a change: ordinals that `selectForChange` returned, what changes, and the time. */
export interface ChangeBatch {
  ordinals: readonly number[];
  selection: ChangeSelection;
  changes: ManyChanges;
  at: number;
}

type ChangedBatch = { outcome: 'changed'; changed: ChangedMemory[] } | { outcome: 'undone' } | { outcome: 'dropped' };

/**
 * Changes the memories of a batch that still match the selection, except those that another call has looked at. The
 * transaction must hold the lock of the namespace.
 */
export async function changeBatch(
  transaction: Transaction,
  namespace: string,
  no: number,
  { ordinals, selection, changes, at }: ChangeBatch,
): Promise<ChangedBatch> {
  const change = await findChange(transaction, namespace, no);
  if (!change) return { outcome: 'dropped' };
  if (change.state !== 'made') return { outcome: 'undone' };
  const left = ordinals.filter((ordinal) => ordinal > change.doneUntil);
  const last = left.at(-1);
  if (last === undefined) return { outcome: 'changed', changed: [] };
  const { dialect } = transaction;
  const found = await findNamed(transaction, namespace, left, isSelected(dialect, namespace, selection, at));
  const counts: ChangeCounts = { updated: 0, unchanged: 0, refused: 0 };
  const written: Change[] = [];
  const records: { ordinal: number; before: string; after: string }[] = [];
  for (const target of found) {
    const labels = toLabels(target);
    const fields = getNewLabels(labels, changes);
    const result = fields === 'too large' ? 'refused' : Object.keys(fields).length === 0 ? 'unchanged' : 'updated';
    counts[result]++;
    if (fields === 'too large' || result === 'unchanged') continue;
    written.push({ target, fields });
    records.push({
      ordinal: target.ordinal,
      before: JSON.stringify(pickLabels(labels, fields)),
      after: JSON.stringify(fields),
    });
  }
  await writeAll(transaction, namespace, written, at);
  await transaction.insert(
    'changed_memory',
    CHANGED_COLUMNS,
    records.map((record) => ({ namespace, change: no, ...record })),
  );
  await transaction.run(sql`
    UPDATE bulk_change SET done_until = ${last}, updated_count = updated_count + ${counts.updated},
      unchanged_count = unchanged_count + ${counts.unchanged}, refused_count = refused_count + ${counts.refused},
      expires_at = ${at + LIMITS.changeUndoMs}
    WHERE ${isChange(namespace, no)}`);
  await dropChanges(transaction, at - DROPPED_AFTER_MS, MAX_DROPPED_AT_ONCE);
  return { outcome: 'changed', changed: written.map(({ target }) => toDeleted(target)) };
}

const CHANGED_COLUMNS = {
  namespace: 'text',
  change: 'bigint',
  ordinal: 'bigint',
  before: 'text',
  after: 'text',
} as const;

/** A memory, and the fields that change in it. */
interface Change {
  target: Erasable;
  fields: ChangedLabels;
}

const LABEL_COLUMNS = {
  namespace: 'text',
  ordinal: 'bigint',
  tags: 'text',
  metadata: 'text',
  importance: 'double precision',
} as const;
const KEY_COLUMNS = { namespace: 'text', ordinal: 'bigint' } as const;

/** Changes the fields of memories, with the same effects as updates one by one. */
async function writeAll(
  transaction: Transaction,
  namespace: string,
  changes: readonly Change[],
  at: number,
): Promise<void> {
  const labels: Change[] = [];
  for (const change of changes) {
    const { target, fields } = change;
    // The text does not change, so it is not read.
    const { leavesGroup } = planUpdate({ ...target, content: '' }, { ...fields, at });
    if (leavesGroup) await write(transaction, target, { ...fields, at });
    else labels.push(change);
  }
  if (labels.length > 0) await writeLabels(transaction, namespace, labels, at);
}

async function writeLabels(
  transaction: Transaction,
  namespace: string,
  changes: readonly Change[],
  at: number,
): Promise<void> {
  const { dialect } = transaction;
  const ordinals = changes.map(({ target }) => target.ordinal);
  await rememberFields(transaction, namespace, ordinals, at);
  await replaceAttributes(
    transaction,
    changes.map(({ target, fields }) => {
      const before = toMemoryAttributes(target);
      return { before, after: { ...before, ...fields } };
    }),
  );
  const rows = changes.map(({ target, fields }) => {
    const { tags, metadata, importance } = { ...toLabels(target), ...fields };
    return {
      namespace,
      ordinal: target.ordinal,
      tags: JSON.stringify(tags),
      metadata: JSON.stringify(metadata),
      importance,
    };
  });
  await transaction.run(sql`
    UPDATE memory SET tags = l.tags, metadata = l.metadata, importance = l.importance,
      updated_at = ${dialect.greatest}(updated_at, CAST(${at} AS bigint)), version = version + 1
    FROM ${dialect.records('l', LABEL_COLUMNS, rows)}
    WHERE memory.ordinal = l.ordinal AND ${dialect.isRecord('memory', KEY_COLUMNS, rows)}`);
  const isDescribed = changes.filter(({ fields }) => fields.metadata !== undefined);
  await queueForMerging(
    transaction,
    namespace,
    isDescribed.map(({ target }) => target.ordinal),
  );
  await transaction.recall.relabel(namespace, ordinals);
}

async function write(
  transaction: Transaction,
  target: Erasable,
  change: ChangedLabels & { at: number },
): Promise<void> {
  // The text does not change, so it is not read.
  const found = { ...target, content: '' };
  const written = await changeMemory(transaction, found, change, () => readRooms(transaction, [found], NO_QUOTAS));
  if (written.outcome !== 'updated') throw new Error(`a change of labels must be possible, but is ${written.outcome}`);
}

/** Marks a change as complete, and returns its counts. See `changeBatch` for the other outcomes. */
export async function endChange(
  queries: Queries,
  namespace: string,
  no: number,
): Promise<({ outcome: 'changed' } & ChangeCounts) | { outcome: 'undone' } | { outcome: 'dropped' }> {
  const counts = await queries.row<ChangeCounts>(sql`
    UPDATE bulk_change SET done_until = arrived_until WHERE ${isChange(namespace, no)} AND state = 'made'
    RETURNING updated_count AS updated, unchanged_count AS unchanged, refused_count AS refused`);
  if (counts) return { outcome: 'changed', ...counts };
  return { outcome: (await findChange(queries, namespace, no)) ? 'undone' : 'dropped' };
}

type BegunUndo = { outcome: 'begun'; no: number } | { outcome: 'unknown' } | { outcome: 'ambiguous' };

/** Begins the undo of a change, or finds one that has begun. The transaction must hold the lock of the namespace. */
export async function beginChangeUndo(
  transaction: Transaction,
  namespace: string,
  id: string,
  of: OwnerFilter,
  at: number,
): Promise<BegunUndo> {
  const [userId = '', agentId = ''] = [of.userIds?.[0], of.agentIds?.[0]];
  const found = await transaction.rows<Owner & { no: number }>(sql`
    SELECT m.no, m.user_id AS "userId", m.agent_id AS "agentId" FROM bulk_change m
    WHERE m.namespace = ${namespace} AND m.id = ${id} AND m.expires_at > ${at} AND ${isOfOwners(transaction.dialect, of)}
    ORDER BY CASE WHEN m.user_id = ${userId} AND m.agent_id = ${agentId} THEN 0 ELSE 1 END, m.no DESC LIMIT 2`);
  const [change] = found;
  if (!change) return { outcome: 'unknown' };
  const isExact = change.userId === userId && change.agentId === agentId;
  if (found.length > 1 && !isExact) return { outcome: 'ambiguous' };
  await transaction.run(sql`
    UPDATE bulk_change SET state = 'undoing', expires_at = ${at + LIMITS.changeUndoMs}
    WHERE ${isChange(namespace, change.no)} AND state = 'made'`);
  return { outcome: 'begun', no: change.no };
}

/** A batch of an undo. The counts are of all batches so far. */
interface UndoneBatch {
  restored: ChangedMemory[];
  counts: { updated: number; restored: number };
  more: boolean;
}

/**
 * Gives values of the change in the next memories their earlier values again, see `getRestoredLabels`. The transaction must hold the lock of the namespace.
 * Returns undefined if the record of the change was deleted.
 */
export async function undoChangeBatch(
  transaction: Transaction,
  namespace: string,
  no: number,
  at: number,
): Promise<UndoneBatch | undefined> {
  const records = await transaction.rows<{ ordinal: number; before: string; after: string }>(sql`
    SELECT ordinal, before, after FROM changed_memory WHERE namespace = ${namespace} AND change = ${no}
    ORDER BY ordinal LIMIT ${MAX_CHANGED_AT_ONCE}`);
  const ordinals = records.map(({ ordinal }) => ordinal);
  const found = await findNamed(transaction, namespace, ordinals);
  const targets = new Map(found.map((target) => [target.ordinal, target]));
  const restored: Change[] = [];
  for (const { ordinal, before, after } of records) {
    const target = targets.get(ordinal);
    if (!target || getRefusal(target, { namespace, id: target.id, at })) continue;
    const fields = getRestoredLabels(toLabels(target), {
      before: fromJson<ChangedLabels>(before, 'the earlier fields of memory', ordinal),
      after: fromJson<ChangedLabels>(after, 'the changed fields of memory', ordinal),
    });
    if (Object.keys(fields).length > 0) restored.push({ target, fields });
  }
  await writeAll(transaction, namespace, restored, at);
  if (records.length > 0) {
    await transaction.run(sql`
      DELETE FROM changed_memory WHERE change = ${no} AND ${transaction.dialect.isMemory('ordinal', namespace, ordinals)}`);
  }
  const more = records.length === MAX_CHANGED_AT_ONCE;
  const expiry = records.length > 0 ? sql`, expires_at = ${at + LIMITS.changeUndoMs}` : raw('');
  const counts = await transaction.row<UndoneBatch['counts']>(sql`
    UPDATE bulk_change SET restored_count = restored_count + ${restored.length},
      state = ${more ? 'undoing' : 'undone'}${expiry}
    WHERE ${isChange(namespace, no)} RETURNING updated_count AS updated, restored_count AS restored`);
  return counts && { restored: restored.map(({ target }) => toDeleted(target)), counts, more };
}

/** See `Storage.dropChanges`. */
export async function dropChanges(queries: Queries, now: number, limit: number): Promise<StepResult> {
  const { skipLocked } = queries.dialect;
  const expired = sql`SELECT namespace, no FROM bulk_change WHERE expires_at <= ${now} ORDER BY expires_at`;
  if (!(await queries.row(sql`${expired} LIMIT 1`))) return { count: 0, more: false };
  const memories = await queries.run(sql`
    WITH old AS MATERIALIZED (
      SELECT c.namespace, c.change, c.ordinal FROM (${expired} LIMIT ${limit}) AS e
      CROSS JOIN changed_memory c WHERE c.namespace = e.namespace AND c.change = e.no LIMIT ${limit} ${skipLocked})
    DELETE FROM changed_memory WHERE (namespace, change, ordinal) IN (SELECT namespace, change, ordinal FROM old)`);
  if (memories === limit) return { count: memories, more: true };
  const changes = await queries.run(sql`
    WITH old AS MATERIALIZED (${expired} LIMIT ${limit} ${skipLocked})
    DELETE FROM bulk_change WHERE expires_at <= ${now} AND (namespace, no) IN (SELECT namespace, no FROM old)
      AND NOT EXISTS (
        SELECT 1 FROM changed_memory c WHERE c.namespace = bulk_change.namespace AND c.change = bulk_change.no)`);
  return { count: memories + changes, more: changes === limit };
}
