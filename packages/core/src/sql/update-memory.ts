import type { MemoryChange, UpdateOutcome } from '../ports/storage-memories.ts';
import type { OverQuota, Quotas } from '../ports/storage-namespaces.ts';
import { queueForDistilling, queueForMerging } from './consolidation-queue.ts';
import { countUsage } from './counters.ts';
import { type FoundMemory, findHiddenDuplicates, findMemory, planUpdate, toMemoryAttributes } from './find-memory.ts';
import { detachDuplicate, erase } from './forget-memories.ts';
import { addAttributes, removeAttributes } from './memory-rows.ts';
import type { Transaction } from './queries.ts';
import { readRooms } from './quotas.ts';
import { removeSources } from './semantic-sources.ts';
import { sql } from './sql.ts';
import { rememberText, setText } from './text-history.ts';

/** Updates a memory. The transaction must hold the lock of the namespace. See `Storage.update`. */
export async function update(transaction: Transaction, change: MemoryChange, quota: Quotas): Promise<UpdateOutcome> {
  const target = await findMemory(transaction, change.namespace, change.id);
  if (!target) return { outcome: 'unknown' };
  const plan = planUpdate(target, change);
  if (typeof plan === 'string') return { outcome: plan };
  const { newText, newExpiry, newMetadata, leavesGroup } = plan;
  const over = newText === undefined ? undefined : await reserveQuota(transaction, target, newText, quota);
  if (over) return over;
  if (leavesGroup) await detachDuplicate(transaction, target);
  if (newText !== undefined) {
    await rememberText(transaction, target, change.at);
    // A merged duplicate is already detached from its group at this point.
    await setText(transaction, { ...target, mergedInto: null }, newText);
  }
  await replaceAttributes(transaction, change, target);
  if (newMetadata) await queueForMerging(transaction, target.namespace, [target.ordinal]);
  await writeFields(transaction, change, target);
  if (isRelabelled(change)) await transaction.recall.relabel(target.namespace, target.ordinal);
  let othersEmbedding = newExpiry && (await changeExpiry(transaction, target.namespace, target.ordinal));
  if (target.mergedInto === null && (newText !== undefined || newExpiry)) {
    othersEmbedding = (await changeGroup(transaction, change, target, newExpiry)) || othersEmbedding;
  }
  return {
    outcome: 'updated',
    owner: { userId: target.userId, agentId: target.agentId },
    ordinal: target.ordinal,
    embedding: newText !== undefined || leavesGroup,
    othersEmbedding,
  };
}

// The earlier text stays in the history and still uses the quota, so the whole new text is additional usage.
async function reserveQuota(
  transaction: Transaction,
  { namespace, userId }: FoundMemory,
  newText: string,
  quota: Quotas,
): Promise<OverQuota | undefined> {
  const more = { memories: 0, bytes: Buffer.byteLength(newText) };
  const over = (await readRooms(transaction, [{ namespace, userId }], quota)).take({ namespace, userId }, more);
  if (!over) await countUsage(transaction, [{ namespace, userId, ...more }]);
  return over;
}

async function writeFields(transaction: Transaction, change: MemoryChange, target: FoundMemory): Promise<void> {
  const { greatest } = transaction.dialect;
  await transaction.run(sql`
    UPDATE memory SET importance = coalesce(CAST(${change.importance ?? null} AS double precision), importance),
      expires_at = CASE WHEN ${change.expiresAt !== undefined} THEN CAST(${change.expiresAt ?? null} AS bigint) ELSE expires_at END,
      updated_at = ${greatest}(updated_at, CAST(${change.at} AS bigint)), version = version + 1
    WHERE namespace = ${target.namespace} AND ordinal = ${target.ordinal}`);
}

/** Returns true if the change affects fields of the index entry other than the text. */
function isRelabelled({ tags, metadata, importance }: MemoryChange): boolean {
  return tags !== undefined || metadata !== undefined || importance !== undefined;
}

// Removes the memory as a source, and queues the memory for consolidation. Returns true if a semantic memory has a new
// text that waits for embedding. `withdraw` and `changeGroup` return the same.
async function changeExpiry(transaction: Transaction, namespace: string, ordinal: number): Promise<boolean> {
  const embedding = await withdraw(transaction, namespace, [ordinal]);
  await queueForMerging(transaction, namespace, [ordinal]);
  await queueForDistilling(transaction, namespace, [ordinal]);
  return embedding;
}

// Removes memories as sources. Otherwise, a semantic memory would repeat the text of a source that has expired or
// changed.
async function withdraw(transaction: Transaction, namespace: string, ordinals: readonly number[]): Promise<boolean> {
  const { emptied, embedding } = await removeSources(transaction, namespace, ordinals, { keepOwnText: true });
  await erase(transaction, namespace, emptied);
  return embedding;
}

// Removes the merged duplicates of a changed survivor as sources. Otherwise, a semantic memory would expose the earlier
// text of the duplicates to recall. The duplicates stay merged, and get the expiry of the survivor.
async function changeGroup(
  transaction: Transaction,
  change: MemoryChange,
  { namespace, id }: FoundMemory,
  newExpiry: boolean,
): Promise<boolean> {
  const hidden = await findHiddenDuplicates(transaction, namespace, id);
  if (hidden.length === 0) return false;
  if (newExpiry) {
    await transaction.run(sql`
      UPDATE memory SET expires_at = CAST(${change.expiresAt ?? null} AS bigint), version = version + 1
      WHERE ${transaction.dialect.isMemory('ordinal', namespace, hidden)}`);
  }
  return withdraw(transaction, namespace, hidden);
}

async function replaceAttributes(transaction: Transaction, change: MemoryChange, target: FoundMemory): Promise<void> {
  if (change.tags === undefined && change.metadata === undefined) return;
  const old = toMemoryAttributes(target);
  const { tags = old.tags, metadata = old.metadata } = change;
  await removeAttributes(transaction, [old]);
  await addAttributes(transaction, [{ ...old, tags, metadata }]);
  await transaction.run(sql`
    UPDATE memory SET tags = ${JSON.stringify(tags)}, metadata = ${JSON.stringify(metadata)}
    WHERE namespace = ${target.namespace} AND ordinal = ${target.ordinal}`);
}
