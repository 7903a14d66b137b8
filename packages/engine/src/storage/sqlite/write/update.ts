import type { Metadata } from '@memoryd/contract';
import type { MemoryChange, UpdateOutcome } from '../../../ports/storage.ts';
import { addAttributes, removeAttributes } from '../attributes.ts';
import { type Connection, sql } from '../connection.ts';
import { enterRecall, leaveRecall, relabel } from '../recall-entry.ts';
import { textDigest } from '../text-digest.ts';
import { findTarget, isCurrent, type Target, twinsOf } from './find.ts';
import { setFree } from './set-free.ts';

/** Changes a memory. See `Storage.update`. */
export function update(connection: Connection, change: MemoryChange): UpdateOutcome {
  const target = findTarget(connection, change.namespace, change.id);
  if (!target || isHidden(target, change.at)) return { outcome: 'unknown' };
  if (!isCurrent(target, change.ifVersions)) return { outcome: 'stale' };
  const newText = change.content !== undefined && change.content !== target.content ? change.content : undefined;
  const newExpiry = change.expiresAt !== undefined && change.expiresAt !== target.expiresAt;
  if (newText !== undefined || newExpiry) setTwinsFree(connection, change.namespace, target);
  if (newText !== undefined) replaceText(connection, change, target, newText);
  replaceAttributes(connection, change, target);
  sql(
    connection,
    `UPDATE memory SET importance = coalesce(?, importance),
       expires_at = CASE WHEN ? THEN ? ELSE expires_at END, updated_at = ?, version = version + 1
     WHERE ordinal = ?`,
  ).run(
    change.importance ?? null,
    change.expiresAt === undefined ? 0 : 1,
    change.expiresAt ?? null,
    change.at,
    target.ordinal,
  );
  return { outcome: 'updated', ordinal: target.ordinal, embedding: newText !== undefined };
}

function isHidden(target: Target, now: number): boolean {
  return target.evictedAt !== null || (target.expiresAt !== null && target.expiresAt <= now);
}

function replaceText(connection: Connection, change: MemoryChange, target: Target, content: string): void {
  sql(connection, 'INSERT INTO memory_history (ordinal, version, replaced_at, content) VALUES (?, ?, ?, ?)').run(
    target.ordinal,
    target.version,
    change.at,
    target.content,
  );
  leaveRecall(connection, change.namespace, target.ordinal);
  sql(connection, 'UPDATE memory SET content = ?, text_digest = ? WHERE ordinal = ?').run(
    content,
    textDigest(content),
    target.ordinal,
  );
  enterRecall(connection, target.ordinal);
}

// Twins are found through the memory that they were merged into. One of them is about to say something else, or to be
// hidden at another time than the others.
function setTwinsFree(connection: Connection, namespace: string, target: Target): void {
  for (const twin of twinsOf(connection, namespace, target.id)) setFree(connection, twin);
  if (target.mergedInto !== null) setFree(connection, target);
}

function replaceAttributes(connection: Connection, change: MemoryChange, target: Target): void {
  if (change.tags === undefined && change.metadata === undefined) return;
  const old = { tags: JSON.parse(target.tags) as string[], metadata: JSON.parse(target.metadata) as Metadata };
  const tags = change.tags ?? old.tags;
  const metadata = change.metadata ?? old.metadata;
  removeAttributes(connection, change.namespace, target.ordinal, old.tags, old.metadata);
  addAttributes(connection, change.namespace, target.ordinal, tags, metadata);
  sql(connection, 'UPDATE memory SET tags = ?, metadata = ? WHERE ordinal = ?').run(
    JSON.stringify(tags),
    JSON.stringify(metadata),
    target.ordinal,
  );
  relabel(connection, target.ordinal);
}
