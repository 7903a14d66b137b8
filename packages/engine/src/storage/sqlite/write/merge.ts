import { LIMITS } from '@memoryd/contract/limits';
import type { RunRef, StepResult } from '../../../ports/storage.ts';
import { fromJson } from '../../damage.ts';
import { canonicalText } from '../../text-digest.ts';
import { addAttributes } from '../attributes.ts';
import { type Connection, sql } from '../connection.ts';
import { leaveRecall, relabel } from '../recall-entry.ts';
import { addAccess } from './access.ts';
import { assertRunning, recordChange } from './run.ts';
import { distilledFrom } from './sources.ts';

interface Twin {
  ordinal: number;
  id: string;
  content: string;
  version: number;
  importance: number;
  tags: string;
  count: number | null;
  lastAt: number | null;
}

/**
 * What makes two rows of `memory` in one session twins, but for equal digests of unequal texts. Those that expire at
 * different times, or that a filter by source or metadata tells apart, are none: merging them would hide a text earlier
 * than its client said, or from who looks for it by its labels.
 */
export function alike(one: string, other: string): string {
  return ['text_digest', 'expires_at', 'source', 'metadata']
    .map((column) => `${one}.${column} IS ${other}.${column}`)
    .join(' AND ');
}

/** What may be merged at all: a memory that takes part in a correction stays apart, since it says what corrects what. */
export const MERGEABLE = `m.merged_into IS NULL AND m.evicted_at IS NULL AND m.tier <> 'semantic'
  AND m.supersedes IS NULL AND m.superseded_by IS NULL`;

/** A larger group is merged a part at a time; its oldest memory is in each. */
const TWINS_AT_ONCE = 32;

/**
 * Looks at memories whose text is new since they were last looked at, and merges each with its exact duplicates into
 * the oldest of them; stops after about `limit`. See `Storage.mergeTwins`.
 */
export function mergeTwins(connection: Connection, run: RunRef, limit: number): StepResult {
  assertRunning(connection, run);
  const { namespace } = run;
  const candidates = sql(connection, 'SELECT ordinal FROM merge_candidate WHERE namespace = ? ORDER BY ordinal LIMIT ?')
    .pluck()
    .all(namespace, limit) as number[];
  let count = 0;
  for (const ordinal of candidates) {
    if (count >= limit) break;
    const twins = readTwins(connection, namespace, ordinal);
    let merged = 0;
    for (const group of byExactText(twins)) merged += merge(connection, run, group);
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
    `SELECT m.ordinal, m.id, m.content, m.version, m.importance, m.tags, a.count, a.last_at AS lastAt
     FROM memory c CROSS JOIN memory m INDEXED BY memory_by_text LEFT JOIN memory_access a ON a.ordinal = m.ordinal
     WHERE c.ordinal = @ordinal AND m.namespace = @namespace AND m.session_id IS c.session_id
       AND ${alike('m', 'c')} AND ${MERGEABLE}
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

function merge(connection: Connection, run: RunRef, [survivor, ...others]: Twin[]): number {
  if (!survivor || others.length === 0) return 0;
  gain(connection, run, survivor, others);
  for (const twin of others) {
    bringTwins(connection, run, twin, survivor);
    leaveRecall(connection, run.namespace, twin.ordinal);
    takePlaceAsSource(connection, survivor, twin);
    sql(connection, 'UPDATE memory SET merged_into = ? WHERE ordinal = ?').run(survivor.id, twin.ordinal);
    recordChange(connection, run, { kind: 'merged', ordinal: twin.ordinal, detail: { into: survivor.ordinal } });
  }
  return others.length;
}

// A memory is a source once: where the survivor is one elsewhere, the twin stays what it is.
function takePlaceAsSource(connection: Connection, survivor: Twin, twin: Twin): void {
  const semantic = distilledFrom(connection, twin.ordinal);
  const survivors = distilledFrom(connection, survivor.ordinal);
  if (semantic === undefined) return;
  if (survivors === undefined) {
    sql(connection, 'UPDATE memory_source SET source = ? WHERE source = ?').run(survivor.ordinal, twin.ordinal);
  } else if (survivors === semantic) {
    sql(connection, 'DELETE FROM memory_source WHERE source = ?').run(twin.ordinal);
  }
}

/** Those that were merged into a twin now stand with it. */
function bringTwins(connection: Connection, run: RunRef, twin: Twin, survivor: Twin): void {
  const brought = sql(
    connection,
    'UPDATE memory SET merged_into = ? WHERE namespace = ? AND merged_into = ? RETURNING ordinal',
  )
    .pluck()
    .all(survivor.id, run.namespace, twin.id) as number[];
  const detail = { from: twin.ordinal, into: survivor.ordinal };
  for (const ordinal of brought) recordChange(connection, run, { kind: 'moved', ordinal, detail });
}

function gain(connection: Connection, run: RunRef, survivor: Twin, others: readonly Twin[]): void {
  const all = [survivor, ...others];
  const uses = others.reduce((sum, twin) => sum + (twin.count ?? 0), 0);
  const lastUse = Math.max(...all.map((twin) => twin.lastAt ?? 0));
  recordChange(connection, run, {
    kind: 'gained',
    ordinal: survivor.ordinal,
    detail: {
      version: survivor.version,
      tags: fromJson<string[]>(survivor.tags),
      importance: survivor.importance,
      accessedAt: survivor.lastAt,
      uses,
      lastUse: uses > 0 ? lastUse : null,
    },
  });
  const tags = [...new Set(all.flatMap((twin) => fromJson<string[]>(twin.tags)))].slice(0, LIMITS.tags);
  sql(connection, 'UPDATE memory SET importance = ?, tags = ? WHERE ordinal = ?').run(
    Math.max(...all.map((twin) => twin.importance)),
    JSON.stringify(tags),
    survivor.ordinal,
  );
  addAttributes(connection, run.namespace, survivor.ordinal, tags, {});
  relabel(connection, survivor.ordinal);
  if (uses > 0) addAccess(connection, survivor.ordinal, uses, lastUse);
}
