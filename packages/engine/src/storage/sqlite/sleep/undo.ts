import { SLEEP_LEASE } from '../../../ports/lease.ts';
import type { ChangeDetails, ChangeKind, RunRef, StepResult, UndoOutcome } from '../../../ports/storage-runs.ts';
import { alike } from '../../conditions.ts';
import { fromJson } from '../../damage.ts';
import type { Recorded } from '../../run-change.ts';
import { NAMED_LIMIT, refusedUndo, type UndoableRun } from '../../run-row.ts';
import { assertFence } from '../../sql/lease.ts';
import { assertRunning, assertState } from '../../sql/run.ts';
import { changeCounts } from '../../sql/run-columns.ts';
import { sql as statement } from '../../sql/sql.ts';
import { addAttributes, removeAttributes } from '../attributes.ts';
import { type Connection, sql } from '../connection.ts';
import type { FileQueries } from '../queries.ts';
import { enterRecall, relabel } from '../recall-entry.ts';
import { takeAccess } from '../write/access.ts';
import { correctAnew } from '../write/corrections.ts';
import { findByOrdinal } from '../write/find.ts';
import { setFree } from '../write/set-free.ts';
import { setEvicted } from './evict.ts';
import { uncorrect, undistil, unrefresh } from './undo-distil.ts';

/** Begins to take a run back, or goes on with it. See `Storage.beginUndo`. */
export async function beginUndo(
  queries: FileQueries,
  namespace: string,
  id: string,
  { fence, endedAfter }: { fence: number; endedAfter: number },
): Promise<UndoOutcome> {
  const { connection } = queries;
  await assertFence(queries, SLEEP_LEASE, fence);
  const run = sql(
    connection,
    'SELECT no, state, ended_at AS endedAt FROM sleep_run WHERE namespace = ? AND id = ?',
  ).get(namespace, id) as UndoableRun | undefined;
  if (!run) return { outcome: 'unknown' };
  const ref = { namespace, no: run.no, id, fence };
  if (run.state === 'undoing') return { outcome: 'begun', ref };
  const refusal = refusedUndo(run, endedAfter);
  if (refusal) return refusal;
  const newer = newerRun(connection, namespace, run.no);
  if (newer !== undefined) return { outcome: 'newer', id: newer };
  const ids = writtenSince(connection, run.no);
  if (ids.length > 0) return { outcome: 'written', ids };
  sql(connection, "UPDATE sleep_run SET state = 'undoing' WHERE no = ?").run(run.no);
  return { outcome: 'begun', ref };
}

/** The newest run after this one that has changed anything and not been undone. */
function newerRun(connection: Connection, namespace: string, no: number): string | undefined {
  return sql(
    connection,
    `SELECT id FROM sleep_run r WHERE namespace = ? AND no > ?
       AND (state IN ('running', 'undoing')
         OR state = 'completed' AND EXISTS (SELECT 1 FROM sleep_change WHERE run = r.no))
     ORDER BY no DESC LIMIT 1`,
  )
    .pluck()
    .get(namespace, no) as string | undefined;
}

/** The memories that a client has written since the run changed them, of those whose change would overwrite that. */
function writtenSince(connection: Connection, no: number): string[] {
  return sql(
    connection,
    `SELECT DISTINCT m.id FROM sleep_change c CROSS JOIN memory m USING (ordinal)
     WHERE c.run = ? AND json_extract(c.detail, '$.version') <> m.version LIMIT ${NAMED_LIMIT}`,
  )
    .pluck()
    .all(no) as string[];
}

/** Begins to take back a run that has not ended. See `Storage.beginRevert`. */
export async function beginRevert(queries: FileQueries, run: RunRef, notes: Record<string, unknown>): Promise<void> {
  await assertRunning(queries, run);
  sql(queries.connection, "UPDATE sleep_run SET state = 'undoing', notes = ? WHERE no = ?").run(
    JSON.stringify(notes),
    run.no,
  );
}

/** Takes back the last changes that have not been. See `Storage.undoSome`. */
export async function undoSome(queries: FileQueries, run: RunRef, at: number, limit: number): Promise<StepResult> {
  const { connection } = queries;
  await assertState(queries, run, 'undoing');
  const changes = sql(
    connection,
    `SELECT seq, kind, ordinal, detail FROM sleep_change
     WHERE run = @no AND seq < coalesce((SELECT undone_from FROM sleep_run WHERE no = @no), ${Number.MAX_SAFE_INTEGER})
     ORDER BY seq DESC LIMIT @limit`,
  ).all({ no: run.no, limit }) as { seq: number; kind: ChangeKind; ordinal: number; detail: string }[];
  for (const { kind, ordinal, detail } of changes) takeBack(connection, run.namespace, kind, ordinal, detail);
  const last = changes.at(-1);
  if (last) sql(connection, 'UPDATE sleep_run SET undone_from = ? WHERE no = ?').run(last.seq, run.no);
  const more = changes.length === limit;
  if (!more) await endUndo(queries, run, at);
  return { count: changes.length, more };
}

async function endUndo(queries: FileQueries, run: RunRef, at: number): Promise<void> {
  await queries.run(statement`
    UPDATE sleep_run AS r SET state = CASE WHEN ended_at IS NULL THEN 'reverted' ELSE 'undone' END,
      counts = CASE WHEN ended_at IS NULL THEN ${changeCounts(queries.dialect)} ELSE counts END,
      ended_at = coalesce(ended_at, ${at})
    WHERE no = ${run.no}`);
}

function takeBack(connection: Connection, namespace: string, kind: ChangeKind, ordinal: number, detail: string): void {
  const undo = UNDO[kind] as Undo<ChangeKind>;
  undo(connection, { namespace, ordinal, detail: fromJson<ChangeDetails[ChangeKind]>(detail) });
}

/**
 * Takes back one change of a memory that has not been forgotten, as far as nothing else has happened to it since. Later
 * changes have been taken back before.
 */
type Undo<Kind extends ChangeKind> = (connection: Connection, change: Recorded<Kind>) => void;

const UNDO: { readonly [Kind in ChangeKind]: Undo<Kind> } = {
  settled: unsettle,
  merged: unmerge,
  moved: moveBack,
  gained: giveBack,
  distilled: undistil,
  refreshed: unrefresh,
  corrected: uncorrect,
  evicted: unevict,
};

function unsettle(connection: Connection, { ordinal }: Recorded<'settled'>): void {
  sql(connection, "UPDATE memory SET tier = 'working' WHERE ordinal = ? AND tier = 'episodic'").run(ordinal);
}

function unevict(connection: Connection, { ordinal }: Recorded<'evicted'>): void {
  const target = findByOrdinal(connection, ordinal);
  if (!target || target.evictedAt === null || target.mergedInto !== null) return;
  setEvicted(connection, ordinal, null);
  enterRecall(connection, ordinal);
}

function unmerge(connection: Connection, { namespace, ordinal, detail }: Recorded<'merged'>): void {
  const twin = twinIn(connection, ordinal, detail.into);
  if (twin) setFree(connection, namespace, twin);
}

function moveBack(connection: Connection, { namespace, ordinal, detail }: Recorded<'moved'>): void {
  const twin = twinIn(connection, ordinal, detail.into);
  if (!twin) return;
  const moved = sql(
    connection,
    `UPDATE memory AS m SET merged_into = f.id FROM memory f WHERE m.ordinal = ? AND f.ordinal = ?
       AND ${alike('f', 'm')} RETURNING merged_into AS back, superseded_by AS correctedBy`,
  ).get(ordinal, detail.from) as { back: string; correctedBy: string | null } | undefined;
  // What it was merged into before has been forgotten or says something else now.
  if (!moved) setFree(connection, namespace, twin);
  else if (moved.correctedBy !== null) correctAnew(connection, namespace, [twin.mergedInto, moved.back]);
}

interface MergedTwin {
  ordinal: number;
  mergedInto: string;
  evictedAt: number | null;
}

/** A memory, if it is still merged into another. */
function twinIn(connection: Connection, ordinal: number, into: number): MergedTwin | undefined {
  return sql(
    connection,
    `SELECT m.ordinal, m.merged_into AS mergedInto, m.evicted_at AS evictedAt FROM memory m JOIN memory s
       ON s.namespace = m.namespace AND s.id = m.merged_into
     WHERE m.ordinal = ? AND s.ordinal = ?`,
  ).get(ordinal, into) as MergedTwin | undefined;
}

// What a client has written since the undo began stays.
function giveBack(connection: Connection, { namespace, ordinal, detail }: Recorded<'gained'>): void {
  takeAccess(connection, ordinal, detail);
  const now = sql(connection, 'SELECT version, tags FROM memory WHERE ordinal = ?').get(ordinal) as
    | { version: number; tags: string }
    | undefined;
  if (now?.version !== detail.version) return;
  removeAttributes(connection, namespace, ordinal, fromJson<string[]>(now.tags), {});
  addAttributes(connection, namespace, ordinal, detail.tags, {});
  sql(connection, 'UPDATE memory SET importance = ?, tags = ? WHERE ordinal = ?').run(
    detail.importance,
    JSON.stringify(detail.tags),
    ordinal,
  );
  relabel(connection, ordinal);
}
