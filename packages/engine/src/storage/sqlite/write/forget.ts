import type { Metadata } from '@memoryd/contract';
import type { ForgetSelection } from '../../../ports/storage-memories.ts';
import { attributeKey, TAG_ATTRIBUTE } from '../../attributes.ts';
import { fromJson } from '../../damage.ts';
import { isCurrent, type Target } from '../../target.ts';
import { removeAttributes } from '../attributes.ts';
import { type Connection, sql } from '../connection.ts';
import { leaveRecall } from '../recall-entry.ts';
import { correctAnew, correctedBy } from './corrections.ts';
import { findTarget, twinsOf } from './find.ts';
import { askForPurge } from './purge.ts';
import { decline, leaveDistilled } from './sources.ts';

export type Forgotten =
  | { outcome: 'forgotten'; ordinals: number[]; alsoForgotten: string[]; embedding: boolean }
  | { outcome: 'unknown' }
  | { outcome: 'stale' };

/** Removes a memory and everything that holds its text, a twin's or a quote from them. See `Storage.forget`. */
export function forget(connection: Connection, namespace: string, id: string, ifVersions?: number[]): Forgotten {
  const target = findTarget(connection, namespace, id);
  if (!target) return { outcome: 'unknown' };
  if (!isCurrent(target, ifVersions)) return { outcome: 'stale' };
  if (target.tier === 'semantic') decline(connection, namespace, target.ordinal);
  const { gone, embedding } = eraseCluster(connection, namespace, target);
  return {
    outcome: 'forgotten',
    ordinals: gone.map((memory) => memory.ordinal),
    alsoForgotten: gone.filter((memory) => memory.id !== id).map((memory) => memory.id),
    embedding,
  };
}

/**
 * Removes a memory with its twins and what was distilled from them alone, and answers all of them; `embedding` says
 * whether what was distilled from others too now waits for new vectors.
 *
 * @param options see `leaveDistilled`
 */
export function eraseCluster(
  connection: Connection,
  namespace: string,
  target: Target,
  options?: { keepsOwn: boolean },
): { gone: Target[]; embedding: boolean } {
  const cluster = clusterOf(connection, namespace, target);
  const ordinals = cluster.map((memory) => memory.ordinal);
  const { emptied, embedding } = leaveDistilled(connection, namespace, ordinals, options);
  const gone = [...cluster, ...emptied];
  erase(connection, namespace, gone);
  askForPurge(connection);
  return { gone, embedding };
}

/** The last ordinal that a memory has. */
export function lastOrdinal(connection: Connection): number {
  return (sql(connection, 'SELECT max(ordinal) FROM memory').pluck().get() as number | null) ?? 0;
}

/**
 * Removes up to `limit` of the memories that a selection names among those that arrived up to an ordinal, with their
 * twins and what was distilled from them alone; answers how many went.
 */
export function forgetSome(
  connection: Connection,
  namespace: string,
  selection: ForgetSelection,
  arrivedUntil: number,
  limit: number,
): { count: number; embedding: boolean } {
  const { from, where } = selected(selection);
  const tag = selection.tag !== undefined && { tag: attributeKey(selection.tag) };
  const ids = sql(connection, `SELECT m.id FROM ${from} WHERE ${where} LIMIT @limit`)
    .pluck()
    .all({ namespace, tagName: TAG_ATTRIBUTE, ...selection, ...tag, arrivedUntil, limit }) as string[];
  const some = { count: 0, embedding: false };
  for (const id of ids) {
    // An earlier one of these may have been its twin.
    const forgotten = forget(connection, namespace, id);
    if (forgotten.outcome !== 'forgotten') continue;
    some.count += forgotten.ordinals.length;
    some.embedding ||= forgotten.embedding;
  }
  return some;
}

function selected(selection: ForgetSelection): { from: string; where: string } {
  const conditions = [
    selection.tag !== undefined && 'a.namespace = @namespace AND a.name = @tagName AND a.value = @tag',
    selection.sessionId !== undefined && 'm.session_id = @sessionId',
    selection.source !== undefined && 'm.source = @source',
    selection.createdBefore !== undefined && 'm.created_at < @createdBefore',
  ].filter((condition) => condition !== false);
  if (conditions.length === 0) throw new Error('forgetting many needs a condition');
  return {
    from: selection.tag === undefined ? 'memory m' : 'attribute a CROSS JOIN memory m ON m.ordinal = a.ordinal',
    where: ['m.namespace = @namespace', 'm.ordinal <= @arrivedUntil', ...conditions].join(' AND '),
  };
}

function clusterOf(connection: Connection, namespace: string, target: Target): Target[] {
  const survivor = target.mergedInto === null ? target : findTarget(connection, namespace, target.mergedInto);
  return survivor ? [survivor, ...twinsOf(connection, namespace, survivor.id)] : [target];
}

/** Removes memories and all that hangs on them, but for what was distilled from them. */
export function erase(connection: Connection, namespace: string, memories: readonly Target[]): void {
  for (const memory of memories) eraseAround(connection, namespace, memory);
  // At once: what a trigger follows can be undone for itself, for which SQLite goes through all pages that the call has
  // changed before, so that 20,000 twins one by one took the writer 47 s.
  const ordinals = JSON.stringify(memories.map(({ ordinal }) => ordinal));
  for (const table of ['memory_history', 'memory']) {
    sql(connection, `DELETE FROM ${table} WHERE ordinal IN (SELECT value FROM json_each(?))`).run(ordinals);
  }
  for (const { id } of memories) correctAnew(connection, namespace, correctedBy(connection, namespace, id));
}

/** Removes what hangs on a memory, but for its texts. */
function eraseAround(connection: Connection, namespace: string, memory: Target): void {
  const { ordinal } = memory;
  leaveRecall(connection, namespace, ordinal);
  removeAttributes(
    connection,
    namespace,
    ordinal,
    fromJson<string[]>(memory.tags),
    fromJson<Metadata>(memory.metadata),
  );
  for (const table of ['memory_access', 'sleep_change']) {
    sql(connection, `DELETE FROM ${table} WHERE ordinal = ?`).run(ordinal);
  }
  for (const table of ['memory_source', 'former_source']) {
    sql(connection, `DELETE FROM ${table} WHERE semantic = ?`).run(ordinal);
  }
  // What corrects it now corrects what it corrected itself.
  sql(connection, 'UPDATE memory SET supersedes = nullif(?, id) WHERE namespace = ? AND supersedes = ?').run(
    memory.supersedes,
    namespace,
    memory.id,
  );
}
