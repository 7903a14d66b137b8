import type { Metadata } from '@memoryd/contract';
import type { MemoryChange, UpdateOutcome } from '../../../ports/storage-memories.ts';
import type { Quota } from '../../../ports/storage-namespaces.ts';
import { fromJson } from '../../damage.ts';
import { readRooms } from '../../sql/namespace-quotas.ts';
import { planUpdate, type Target, type UpdatePlan } from '../../target.ts';
import { addAttributes, removeAttributes } from '../attributes.ts';
import { type Connection, sql } from '../connection.ts';
import type { FileQueries } from '../queries.ts';
import { awaitDistilling, awaitMerging, relabel } from '../recall-entry.ts';
import { findTarget, twinsOf } from './find.ts';
import { erase } from './forget.ts';
import { setFree } from './set-free.ts';
import { leaveDistilled } from './sources.ts';
import { rememberText, setText } from './text.ts';

/** Changes a memory. See `Storage.update`. */
export async function update(queries: FileQueries, change: MemoryChange, quota: Quota): Promise<UpdateOutcome> {
  const { connection } = queries;
  const target = findTarget(connection, change.namespace, change.id);
  if (!target) return { outcome: 'unknown' };
  const plan = planUpdate(target, change);
  if (typeof plan === 'string') return { outcome: plan };
  const { newText, newExpiry, newMetadata } = plan;
  const more = { memories: 0, bytes: Buffer.byteLength(newText ?? '') };
  const over = (await readRooms(queries, [change.namespace], quota)).take(change.namespace, more);
  if (over) return over;
  const freed = setFreeBy(connection, change.namespace, target, plan);
  if (newText !== undefined) {
    rememberText(connection, target, change.at);
    setText(connection, change.namespace, target, newText);
  }
  replaceAttributes(connection, change, target);
  if (newMetadata) awaitMerging(connection, target.ordinal);
  writeFields(connection, change, target.ordinal);
  if (isRelabelled(change)) relabel(connection, target.ordinal);
  if (newExpiry) changeExpiry(connection, change.namespace, target.ordinal);
  return { outcome: 'updated', ordinal: target.ordinal, embedding: newText !== undefined || freed };
}

function writeFields(connection: Connection, change: MemoryChange, ordinal: number): void {
  sql(
    connection,
    `UPDATE memory SET importance = coalesce(?, importance),
       expires_at = CASE WHEN ? THEN ? ELSE expires_at END, updated_at = max(updated_at, ?), version = version + 1
     WHERE ordinal = ?`,
  ).run(
    change.importance ?? null,
    change.expiresAt === undefined ? 0 : 1,
    change.expiresAt ?? null,
    change.at,
    ordinal,
  );
}

/** Whether something changes that recall knows a memory by, its text apart. */
function isRelabelled({ tags, metadata, importance }: MemoryChange): boolean {
  return tags !== undefined || metadata !== undefined || importance !== undefined;
}

// What was distilled from a memory would tell of it when it is hidden.
function changeExpiry(connection: Connection, namespace: string, ordinal: number): void {
  for (const emptied of leaveDistilled(connection, namespace, [ordinal], { keepsOwn: true }).emptied) {
    erase(connection, namespace, [emptied]);
  }
  awaitMerging(connection, ordinal);
  awaitDistilling(connection, ordinal);
}

// Twins are found through the memory that they were merged into. Where one of them no longer is as the others, none is
// its twin; one that only gets other tags is found by these when it stands for itself. Answers whether any was set free.
function setFreeBy(
  connection: Connection,
  namespace: string,
  target: Target,
  { partsTwins, leavesTwin }: UpdatePlan,
): boolean {
  const twins = partsTwins ? twinsOf(connection, namespace, target.id) : [];
  if (leavesTwin) twins.push(target);
  for (const twin of twins) setFree(connection, namespace, twin);
  return twins.length > 0;
}

function replaceAttributes(connection: Connection, change: MemoryChange, target: Target): void {
  if (change.tags === undefined && change.metadata === undefined) return;
  const old = { tags: fromJson<string[]>(target.tags), metadata: fromJson<Metadata>(target.metadata) };
  const tags = change.tags ?? old.tags;
  const metadata = change.metadata ?? old.metadata;
  removeAttributes(connection, change.namespace, target.ordinal, old.tags, old.metadata);
  addAttributes(connection, change.namespace, target.ordinal, tags, metadata);
  sql(connection, 'UPDATE memory SET tags = ?, metadata = ? WHERE ordinal = ?').run(
    JSON.stringify(tags),
    JSON.stringify(metadata),
    target.ordinal,
  );
}
