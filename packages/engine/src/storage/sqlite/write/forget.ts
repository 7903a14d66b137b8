import type { Metadata } from '@memoryd/contract';
import type { ForgetSelection } from '../../../ports/storage.ts';
import { type Connection, sql } from '../connection.ts';
import { leaveRecall, removeAttributes, TAG_ATTRIBUTE } from '../recall-entry.ts';
import { findTarget, isCurrent, type Target, twinsOf } from './find.ts';

export type Forgotten =
  | { outcome: 'forgotten'; ordinals: number[]; alsoForgotten: string[] }
  | { outcome: 'unknown' }
  | { outcome: 'stale' };

/** Removes a memory and everything that holds its text or a twin's. See `Storage.forget`. */
export function forget(connection: Connection, namespace: string, id: string, ifVersions?: number[]): Forgotten {
  const target = findTarget(connection, namespace, id);
  if (!target) return { outcome: 'unknown' };
  if (!isCurrent(target, ifVersions)) return { outcome: 'stale' };
  const cluster = clusterOf(connection, namespace, target);
  for (const memory of cluster) erase(connection, namespace, memory);
  return {
    outcome: 'forgotten',
    ordinals: cluster.map((memory) => memory.ordinal),
    alsoForgotten: cluster.filter((memory) => memory.id !== id).map((memory) => memory.id),
  };
}

/** Removes up to `limit` of the memories that a selection names, with their twins; answers how many went. */
export function forgetSome(
  connection: Connection,
  namespace: string,
  selection: ForgetSelection,
  limit: number,
): number {
  const { where, values } = selectionWhere(namespace, selection);
  const ids = sql(connection, `SELECT id FROM memory m WHERE ${where} LIMIT ?`)
    .pluck()
    .all(...values, limit) as string[];
  let count = 0;
  for (const id of ids) {
    // An earlier one of these may have been its twin.
    const forgotten = forget(connection, namespace, id);
    if (forgotten.outcome === 'forgotten') count += forgotten.ordinals.length;
  }
  return count;
}

function clusterOf(connection: Connection, namespace: string, target: Target): Target[] {
  const survivor = target.mergedInto === null ? target : findTarget(connection, namespace, target.mergedInto);
  return survivor ? [survivor, ...twinsOf(connection, namespace, survivor.id)] : [target];
}

function erase(connection: Connection, namespace: string, memory: Target): void {
  const { ordinal } = memory;
  leaveRecall(connection, namespace, ordinal);
  removeAttributes(
    connection,
    namespace,
    ordinal,
    JSON.parse(memory.tags) as string[],
    JSON.parse(memory.metadata) as Metadata,
  );
  for (const table of ['memory_history', 'memory_access', 'memory']) {
    sql(connection, `DELETE FROM ${table} WHERE ordinal = ?`).run(ordinal);
  }
  sql(connection, 'UPDATE memory SET supersedes = NULL WHERE namespace = ? AND supersedes = ?').run(
    namespace,
    memory.id,
  );
  restoreSuperseded(connection, namespace, memory.id);
}

// What the forgotten memory corrected is corrected by another that also names it, or by none.
function restoreSuperseded(connection: Connection, namespace: string, id: string): void {
  sql(
    connection,
    `UPDATE memory AS old SET superseded_by = (
       SELECT id FROM memory AS newer WHERE newer.namespace = old.namespace AND newer.supersedes = old.id
       ORDER BY newer.ordinal DESC LIMIT 1)
     WHERE namespace = ? AND superseded_by = ?`,
  ).run(namespace, id);
}

function selectionWhere(namespace: string, selection: ForgetSelection): { where: string; values: unknown[] } {
  const where = ['m.namespace = ?'];
  const values: unknown[] = [namespace];
  const add = (condition: string, ...more: unknown[]) => {
    where.push(condition);
    values.push(...more);
  };
  if (selection.sessionId !== undefined) add('m.session_id = ?', selection.sessionId);
  if (selection.source !== undefined) add('m.source = ?', selection.source);
  if (selection.createdBefore !== undefined) add('m.created_at < ?', selection.createdBefore);
  if (selection.tag !== undefined) {
    add(
      'm.ordinal IN (SELECT ordinal FROM attribute WHERE namespace = ? AND name = ? AND value = ?)',
      namespace,
      TAG_ATTRIBUTE,
      selection.tag,
    );
  }
  return { where: where.join(' AND '), values };
}
