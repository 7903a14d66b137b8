import type { RunRef, StepResult } from '../../../ports/storage-runs.ts';
import { alike, MERGEABLE } from '../../conditions.ts';
import { assertRunning, recordChanges } from '../../sql/run.ts';
import { gainOf, mergeableGroups, TWINS_AT_ONCE, type Twin } from '../../twins.ts';
import { addAttributes } from '../attributes.ts';
import { type Connection, sql } from '../connection.ts';
import type { FileQueries } from '../queries.ts';
import { leaveRecall, relabel } from '../recall-entry.ts';
import { addAccess } from '../write/access.ts';
import { distilledFrom } from '../write/sources.ts';

/**
 * Looks at memories whose text is new since they were last looked at, and merges each with its exact duplicates into
 * the oldest of them; stops after about `limit`. See `Storage.mergeTwins`.
 */
export async function mergeTwins(queries: FileQueries, run: RunRef, limit: number): Promise<StepResult> {
  const { connection } = queries;
  await assertRunning(queries, run);
  const { namespace } = run;
  const candidates = sql(connection, 'SELECT ordinal FROM merge_candidate WHERE namespace = ? ORDER BY ordinal LIMIT ?')
    .pluck()
    .all(namespace, limit) as number[];
  let count = 0;
  for (const ordinal of candidates) {
    if (count >= limit) break;
    const twins = readTwins(connection, namespace, ordinal);
    let merged = 0;
    for (const group of mergeableGroups(twins)) merged += await merge(queries, run, group);
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

async function merge(queries: FileQueries, run: RunRef, [survivor, ...others]: Twin[]): Promise<number> {
  if (!survivor || others.length === 0) return 0;
  const { connection } = queries;
  await gain(queries, run, survivor, others);
  for (const twin of others) {
    await bringTwins(queries, run, twin, survivor);
    leaveRecall(connection, run.namespace, twin.ordinal);
    takePlaceAsSource(connection, survivor, twin);
    sql(connection, 'UPDATE memory SET merged_into = ? WHERE ordinal = ?').run(survivor.id, twin.ordinal);
    await recordChanges(queries, run, [{ kind: 'merged', ordinal: twin.ordinal, detail: { into: survivor.ordinal } }]);
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
async function bringTwins(queries: FileQueries, run: RunRef, twin: Twin, survivor: Twin): Promise<void> {
  const brought = sql(
    queries.connection,
    'UPDATE memory SET merged_into = ? WHERE namespace = ? AND merged_into = ? RETURNING ordinal',
  )
    .pluck()
    .all(survivor.id, run.namespace, twin.id) as number[];
  const detail = { from: twin.ordinal, into: survivor.ordinal };
  const changes = brought.map((ordinal) => ({ kind: 'moved' as const, ordinal, detail }));
  await recordChanges(queries, run, changes);
}

async function gain(queries: FileQueries, run: RunRef, survivor: Twin, others: readonly Twin[]): Promise<void> {
  const { connection } = queries;
  const { ordinal } = survivor;
  const { importance, tags, before } = gainOf(survivor, others);
  await recordChanges(queries, run, [{ kind: 'gained', ordinal, detail: before }]);
  sql(connection, 'UPDATE memory SET importance = ?, tags = ? WHERE ordinal = ?').run(
    importance,
    JSON.stringify(tags),
    ordinal,
  );
  addAttributes(connection, run.namespace, ordinal, tags, {});
  relabel(connection, ordinal);
  if (before.lastUse !== null) addAccess(connection, ordinal, before.uses, before.lastUse);
}
