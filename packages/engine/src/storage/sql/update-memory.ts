import type { MemoryChange, UpdateOutcome } from '../../ports/storage-memories.ts';
import type { OverQuota, Quota } from '../../ports/storage-namespaces.ts';
import { awaitDistilling, awaitMerging } from './candidates.ts';
import { countUsage } from './counters.ts';
import { type FoundMemory, findMemory, findMerged, planUpdate, toLabelled, type UpdatePlan } from './find-memory.ts';
import { erase, setFree } from './forget-memories.ts';
import { addAttributes, removeAttributes } from './memory-rows.ts';
import type { Transaction } from './queries.ts';
import { readRooms } from './quotas.ts';
import { leaveDistilled } from './semantic-sources.ts';
import { sql } from './sql.ts';
import { rememberText, setText } from './text-history.ts';

/** Changes a memory, of a namespace that the transaction has for itself. See `Storage.update`. */
export async function update(transaction: Transaction, change: MemoryChange, quota: Quota): Promise<UpdateOutcome> {
  const target = await findMemory(transaction, change.namespace, change.id);
  if (!target) return { outcome: 'unknown' };
  const plan = planUpdate(target, change);
  if (typeof plan === 'string') return { outcome: plan };
  const { newText, newExpiry, newMetadata } = plan;
  const over = newText === undefined ? undefined : await takeRoom(transaction, change.namespace, newText, quota);
  if (over) return over;
  const freed = await setFreeBy(transaction, target, plan);
  if (newText !== undefined) {
    await rememberText(transaction, target, change.at);
    // A twin has been set free by now.
    await setText(transaction, { ...target, mergedInto: null }, newText);
  }
  await replaceAttributes(transaction, change, target);
  if (newMetadata) await awaitMerging(transaction, target.namespace, [target.ordinal]);
  await writeFields(transaction, change, target);
  if (isRelabelled(change)) await transaction.recall.relabel(target.namespace, target.ordinal);
  if (newExpiry) await changeExpiry(transaction, target);
  return { outcome: 'updated', ordinal: target.ordinal, embedding: newText !== undefined || freed };
}

// The earlier text stays beside it, in the history.
async function takeRoom(
  transaction: Transaction,
  namespace: string,
  newText: string,
  quota: Quota,
): Promise<OverQuota | undefined> {
  const more = { memories: 0, bytes: Buffer.byteLength(newText) };
  const over = (await readRooms(transaction, [namespace], quota)).take(namespace, more);
  if (!over) await countUsage(transaction, [{ namespace, ...more }]);
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

/** Whether something changes that recall knows a memory by, its text apart. */
function isRelabelled({ tags, metadata, importance }: MemoryChange): boolean {
  return tags !== undefined || metadata !== undefined || importance !== undefined;
}

// What was distilled from a memory would tell of it when it is hidden.
async function changeExpiry(transaction: Transaction, { namespace, ordinal }: FoundMemory): Promise<void> {
  const { emptied } = await leaveDistilled(transaction, namespace, [ordinal], { keepsOwn: true });
  await erase(transaction, namespace, emptied);
  await awaitMerging(transaction, namespace, [ordinal]);
  await awaitDistilling(transaction, namespace, [ordinal]);
}

// Twins are found through the memory that they were merged into. Where one of them no longer is as the others, none is
// its twin; one that only gets other tags is found by these when it stands for itself. Answers whether any was set free.
async function setFreeBy(
  transaction: Transaction,
  target: FoundMemory,
  { partsTwins, leavesTwin }: UpdatePlan,
): Promise<boolean> {
  const twins = partsTwins ? await findMerged(transaction, target.namespace, target.id) : [];
  if (leavesTwin) twins.push(target);
  for (const twin of twins) await setFree(transaction, twin);
  return twins.length > 0;
}

async function replaceAttributes(transaction: Transaction, change: MemoryChange, target: FoundMemory): Promise<void> {
  if (change.tags === undefined && change.metadata === undefined) return;
  const old = toLabelled(target);
  const { tags = old.tags, metadata = old.metadata } = change;
  await removeAttributes(transaction, [old]);
  await addAttributes(transaction, [{ ...old, tags, metadata }]);
  await transaction.run(sql`
    UPDATE memory SET tags = ${JSON.stringify(tags)}, metadata = ${JSON.stringify(metadata)}
    WHERE namespace = ${target.namespace} AND ordinal = ${target.ordinal}`);
}
