import type { MemoryChange, Updated, UpdateOutcome } from '../ports/storage-memories.ts';
import type { OverQuota, Quotas } from '../ports/storage-namespaces.ts';
import { setEvicted } from './archive-memories.ts';
import { indexAndQueue, queueForDistilling, queueForMerging } from './consolidation-queue.ts';
import { countUsage } from './counters.ts';
import { rememberFields } from './field-history.ts';
import {
  type FieldChange,
  type FoundMemory,
  findHiddenDuplicates,
  findMemory,
  getRefusal,
  hasPeriod,
  isInTier,
  planUpdate,
  toFilterFields,
  toMemoryAttributes,
  type UpdatePlan,
} from './find-memory.ts';
import { detachDuplicate, endSummaries, supersede } from './forget-memories.ts';
import { countEntering, countLeaving } from './list-counters.ts';
import { insertAttachments, replaceAttributes } from './memory-rows.ts';
import type { Queries, Transaction } from './queries.ts';
import { type Rooms, readRooms } from './quotas.ts';
import { join, raw, type Sql, sql } from './sql.ts';
import { canReplace, catchUpSuccession, removeSuccessor } from './succession.ts';
import { rememberText, setText } from './text-history.ts';

/** Updates a memory. The transaction must hold the lock of the namespace. See `Storage.update`. */
export async function update(transaction: Transaction, change: MemoryChange, quota: Quotas): Promise<UpdateOutcome> {
  const target = await findMemory(transaction, change.namespace, change.id);
  if (!target) return { outcome: 'unknown' };
  const refusal = getRefusal(target, change);
  if (refusal) return { outcome: refusal };
  const { supersedes = null } = change;
  if (supersedes !== null && !(await hasOwner(transaction, supersedes, target))) {
    return { outcome: 'superseded-unknown' };
  }
  const changed = await changeMemory(transaction, target, change, () => readRooms(transaction, [target], quota));
  if (changed.outcome !== 'updated') return changed;
  return { ...changed, owner: { userId: target.userId, agentId: target.agentId } };
}

/** Returns true if a memory exists and has the same user and agent as another. */
async function hasOwner(queries: Queries, id: string, { namespace, userId, agentId }: FoundMemory): Promise<boolean> {
  const found = await findMemory(queries, namespace, id);
  return found !== undefined && found.userId === userId && found.agentId === agentId;
}

/** The outcome of a change. See `UpdateOutcome`. */
export type ChangeOutcome =
  | ({ outcome: 'updated' } & Updated)
  | { outcome: 'no-period' }
  | { outcome: 'superseding-itself' }
  | OverQuota;

/** Changes the given fields of a memory. The transaction must hold the lock of the namespace. */
export async function changeMemory(
  transaction: Transaction,
  target: FoundMemory,
  change: FieldChange,
  getRooms: () => Promise<Rooms>,
): Promise<ChangeOutcome> {
  if (!hasPeriod(target, change)) return { outcome: 'no-period' };
  const { supersedes = null } = change;
  if (supersedes !== null && !(await canReplace(transaction, target, supersedes))) {
    return { outcome: 'superseding-itself' };
  }
  const plan = planUpdate(target, change);
  const { newText, newExpiry, newValidity, leavesGroup, leavesArchive } = plan;
  const newPeriod = newExpiry || newValidity;
  const over = await reserveQuota(transaction, target, { content: newText, attachment: change.attachment }, getRooms);
  if (over) return over;
  await rememberFields(transaction, target.namespace, [target.ordinal], change.at, { isRegrouping: leavesGroup });
  const current = await makeVisible(transaction, target, plan);
  if (newText !== undefined) {
    await rememberText(transaction, target, change.at);
    await setText(transaction, current, newText);
  }
  await changeFields(transaction, current, change, plan);
  if (newText !== undefined || newPeriod) {
    await endSummaries(transaction, target.namespace, [target.ordinal]);
    if (target.mergedInto === null) await changeGroup(transaction, change, target, newPeriod);
  }
  if (newPeriod) {
    await queueForMerging(transaction, target.namespace, [target.ordinal]);
    await queueForDistilling(transaction, target.namespace, [target.ordinal]);
  }
  return {
    outcome: 'updated',
    ordinal: target.ordinal,
    before: toFilterFields(target),
    embedding: newText !== undefined || leavesGroup || leavesArchive,
  };
}

/** Detaches a merged duplicate, and returns an evicted memory to its tier, as planned. */
async function makeVisible(
  transaction: Transaction,
  target: FoundMemory,
  { newText, leavesGroup, leavesArchive }: UpdatePlan,
): Promise<FoundMemory> {
  if (leavesGroup) await detachDuplicate(transaction, target);
  if (leavesArchive) {
    // Includes the hidden duplicates of the memory.
    await setEvicted(transaction, target.namespace, [target.ordinal], null);
    if (newText === undefined) await catchUpSuccession(transaction, target.namespace, target.ordinal);
    await indexAndQueue(transaction, target.namespace, target.ordinal);
  }
  return { ...target, ...(leavesGroup && { mergedInto: null }), ...(leavesArchive && { evictedAt: null }) };
}

/** Changes the fields of a memory other than its text. */
async function changeFields(
  transaction: Transaction,
  target: FoundMemory,
  change: FieldChange,
  { isMoved, newMetadata }: UpdatePlan,
): Promise<void> {
  if (isMoved) await moveMemory(transaction, target, change);
  if (change.attachment !== undefined) await replaceAttachment(transaction, target, change.attachment);
  if (change.supersedes !== undefined) await replaceSuperseded(transaction, target, change.supersedes, change.at);
  await replaceLabels(transaction, change, target);
  if (newMetadata) await queueForMerging(transaction, target.namespace, [target.ordinal]);
  await writeFields(transaction, change, target);
  if (isMoved || isRelabelled(change)) await transaction.recall.relabel(target.namespace, [target.ordinal]);
}

// The earlier text stays in the history and still uses the quota, so the whole new text is additional usage. An earlier
// attachment is deleted.
async function reserveQuota(
  transaction: Transaction,
  { namespace, userId, attachmentBytes }: FoundMemory,
  { content, attachment }: { content: string | undefined; attachment: string | undefined },
  getRooms: () => Promise<Rooms>,
): Promise<OverQuota | undefined> {
  if (content === undefined && attachment === undefined) return undefined;
  const replaced = attachment === undefined ? 0 : attachmentBytes;
  const bytes = Buffer.byteLength(content ?? '') + Buffer.byteLength(attachment ?? '') - replaced;
  const more = { memories: 0, bytes };
  const over = (await getRooms()).take({ namespace, userId }, more);
  if (!over) await countUsage(transaction, [{ namespace, userId, ...more }]);
  return over;
}

/** Changes the session, source and creation time of a memory, and the counts of its sessions. */
async function moveMemory(
  transaction: Transaction,
  target: FoundMemory,
  { sessionId, source = target.source, createdAt = target.createdAt }: FieldChange,
): Promise<void> {
  const { namespace, ordinal } = target;
  const moved = { ...target, sessionId: sessionId ?? target.sessionId, createdAt };
  await transaction.run(sql`
    UPDATE memory SET session_id = ${moved.sessionId}, source = ${source}, created_at = ${createdAt}
    WHERE namespace = ${namespace} AND ordinal = ${ordinal}`);
  if (isInTier(target)) {
    await countLeaving(transaction, [target]);
    await countEntering(transaction, [moved]);
  }
  await queueForMerging(transaction, namespace, [ordinal]);
  await queueForDistilling(transaction, namespace, [ordinal]);
}

async function replaceAttachment(
  transaction: Transaction,
  { namespace, ordinal }: FoundMemory,
  attachment: string,
): Promise<void> {
  const { isMemory } = transaction.dialect;
  await transaction.run(sql`DELETE FROM memory_attachment WHERE ${isMemory('ordinal', namespace, [ordinal])}`);
  await insertAttachments(transaction, [{ namespace, ordinal, attachment }]);
  await transaction.run(sql`
    UPDATE memory SET attachment_bytes = ${Buffer.byteLength(attachment)}
    WHERE namespace = ${namespace} AND ordinal = ${ordinal}`);
  await transaction.recall.noteErased();
}

/** Makes a memory supersede another one, or none, instead of the one that it superseded, if any. */
async function replaceSuperseded(
  transaction: Transaction,
  { namespace, ordinal }: FoundMemory,
  superseded: string | null,
  at: number,
): Promise<void> {
  await removeSuccessor(transaction, namespace, ordinal, at);
  await transaction.run(sql`
    UPDATE memory SET supersedes = ${superseded} WHERE namespace = ${namespace} AND ordinal = ${ordinal}`);
  // A memory that supersedes no other can be merged.
  if (superseded === null) return queueForMerging(transaction, namespace, [ordinal]);
  await supersede(transaction, namespace, superseded, ordinal, at);
}

/**
 * Makes a memory supersede another one, or none, as an update of the field does. An evicted memory stays evicted. Check
 * `canReplace` first.
 */
export async function setSuperseded(
  transaction: Transaction,
  target: FoundMemory,
  superseded: string | null,
  at: number,
): Promise<void> {
  await rememberFields(transaction, target.namespace, [target.ordinal], at);
  await replaceSuperseded(transaction, target, superseded, at);
  await writeFields(transaction, { at }, target);
}

async function writeFields(transaction: Transaction, change: FieldChange, target: FoundMemory): Promise<void> {
  const { greatest } = transaction.dialect;
  await transaction.run(sql`
    UPDATE memory SET importance = coalesce(CAST(${change.importance ?? null} AS double precision), importance),
      ${setPeriod(change)},
      updated_at = ${greatest}(updated_at, CAST(${change.at} AS bigint)), version = version + 1
    WHERE namespace = ${target.namespace} AND ordinal = ${target.ordinal}`);
}

/** Returns true if the change affects fields of the index entry other than the text. */
function isRelabelled({ tags, metadata, importance }: FieldChange): boolean {
  return tags !== undefined || metadata !== undefined || importance !== undefined;
}

// Ends the summaries of the merged duplicates of a changed survivor. Otherwise, a semantic memory would expose the
// earlier text of the duplicates to recall. The duplicates stay merged, and get the expiry and validity of the survivor.
async function changeGroup(
  transaction: Transaction,
  change: FieldChange,
  { namespace, id }: FoundMemory,
  newPeriod: boolean,
): Promise<void> {
  const hidden = await findHiddenDuplicates(transaction, namespace, id);
  if (hidden.length === 0) return;
  if (newPeriod) {
    await rememberFields(transaction, namespace, hidden, change.at);
    await transaction.run(sql`
      UPDATE memory SET ${setPeriod(change)}, version = version + 1
      WHERE ${transaction.dialect.isMemory('ordinal', namespace, hidden)}`);
  }
  await endSummaries(transaction, namespace, hidden);
}

function setPeriod({ expiresAt, validFrom, validTo }: FieldChange): Sql {
  const set = (column: string, value: number | null | undefined) =>
    value === undefined ? raw(`${column} = ${column}`) : sql`${raw(column)} = CAST(${value} AS bigint)`;
  return join([set('expires_at', expiresAt), set('valid_from', validFrom), set('valid_to', validTo)], ', ');
}

async function replaceLabels(transaction: Transaction, change: FieldChange, target: FoundMemory): Promise<void> {
  if (change.tags === undefined && change.metadata === undefined) return;
  const old = toMemoryAttributes(target);
  const { tags = old.tags, metadata = old.metadata } = change;
  await replaceAttributes(transaction, [{ before: old, after: { ...old, tags, metadata } }]);
  await transaction.run(sql`
    UPDATE memory SET tags = ${JSON.stringify(tags)}, metadata = ${JSON.stringify(metadata)}
    WHERE namespace = ${target.namespace} AND ordinal = ${target.ordinal}`);
}
