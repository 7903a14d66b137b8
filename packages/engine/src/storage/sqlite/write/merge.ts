import { LIMITS } from '@memoryd/contract/limits';
import type { StepResult } from '../../../ports/storage.ts';
import { addAttributes } from '../attributes.ts';
import { type Connection, sql } from '../connection.ts';
import { leaveRecall, relabel } from '../recall-entry.ts';
import { canonicalText } from '../text-digest.ts';
import { addAccess } from './access.ts';

interface Twin {
  ordinal: number;
  id: string;
  content: string;
  importance: number;
  tags: string;
  count: number | null;
  lastAt: number | null;
}

/*
 * Twins that expire at different times or take part in a correction stay apart: merging them would hide a text earlier
 * than its client said, or change what corrects what.
 */
const MERGEABLE = `m.merged_into IS NULL AND m.evicted_at IS NULL AND m.tier <> 'semantic'
  AND m.supersedes IS NULL AND m.superseded_by IS NULL`;

/** A larger group is merged a part at a time; its oldest memory is in each. */
const TWINS_AT_ONCE = 32;

/**
 * Looks at memories whose text is new since they were last looked at, and merges each with its exact duplicates into
 * the oldest of them; stops after about `limit`. See `Storage.mergeTwins`.
 */
export function mergeTwins(connection: Connection, namespace: string, limit: number): StepResult {
  const candidates = sql(connection, 'SELECT ordinal FROM merge_candidate WHERE namespace = ? ORDER BY ordinal LIMIT ?')
    .pluck()
    .all(namespace, limit) as number[];
  let count = 0;
  for (const ordinal of candidates) {
    if (count >= limit) break;
    const twins = readTwins(connection, namespace, ordinal);
    let merged = 0;
    for (const group of byExactText(twins)) merged += merge(connection, namespace, group);
    count += merged;
    // A full reading may have left out twins: it is looked at once more.
    if (twins.length === TWINS_AT_ONCE && merged > 0) continue;
    sql(connection, 'DELETE FROM merge_candidate WHERE namespace = ? AND ordinal = ?').run(namespace, ordinal);
  }
  const more = sql(connection, 'SELECT 1 FROM merge_candidate WHERE namespace = ? LIMIT 1').get(namespace);
  return { count, more: more !== undefined };
}

function readTwins(connection: Connection, namespace: string, ordinal: number): Twin[] {
  return sql(
    connection,
    `SELECT m.ordinal, m.id, m.content, m.importance, m.tags, a.count, a.last_at AS lastAt
     FROM memory c CROSS JOIN memory m INDEXED BY memory_by_text LEFT JOIN memory_access a ON a.ordinal = m.ordinal
     WHERE c.ordinal = @ordinal AND m.namespace = @namespace AND m.session_id IS c.session_id
       AND m.text_digest = c.text_digest AND m.expires_at IS c.expires_at AND ${MERGEABLE}
     ORDER BY m.created_at, m.ordinal LIMIT ${TWINS_AT_ONCE}`,
  ).all({ namespace, ordinal }) as Twin[];
}

// Equal digests are not yet equal texts; nothing is merged on a digest alone.
function byExactText(twins: readonly Twin[]): Iterable<Twin[]> {
  const groups = new Map<string, Twin[]>();
  for (const twin of twins) {
    const text = canonicalText(twin.content);
    const group = groups.get(text);
    if (group) group.push(twin);
    else groups.set(text, [twin]);
  }
  return groups.values();
}

function merge(connection: Connection, namespace: string, [survivor, ...others]: Twin[]): number {
  if (!survivor || others.length === 0) return 0;
  gain(connection, namespace, survivor, others);
  for (const twin of others) {
    leaveRecall(connection, namespace, twin.ordinal);
    sql(connection, 'UPDATE memory SET merged_into = ? WHERE ordinal = ?').run(survivor.id, twin.ordinal);
    // One that was merged into this twin now stands with it.
    sql(connection, 'UPDATE memory SET merged_into = ? WHERE namespace = ? AND merged_into = ?').run(
      survivor.id,
      namespace,
      twin.id,
    );
  }
  return others.length;
}

function gain(connection: Connection, namespace: string, survivor: Twin, others: readonly Twin[]): void {
  const all = [survivor, ...others];
  const tags = [...new Set(all.flatMap((twin) => JSON.parse(twin.tags) as string[]))].slice(0, LIMITS.tags);
  sql(connection, 'UPDATE memory SET importance = ?, tags = ? WHERE ordinal = ?').run(
    Math.max(...all.map((twin) => twin.importance)),
    JSON.stringify(tags),
    survivor.ordinal,
  );
  addAttributes(connection, namespace, survivor.ordinal, tags, {});
  relabel(connection, survivor.ordinal);
  const count = others.reduce((sum, twin) => sum + (twin.count ?? 0), 0);
  if (count === 0) return;
  const lastAt = Math.max(...all.map((twin) => twin.lastAt ?? 0));
  addAccess(connection, survivor.ordinal, count, lastAt);
}
