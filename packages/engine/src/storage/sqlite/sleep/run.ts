import { MemoryError } from '@memoryd/contract/errors';
import { SLEEP_LEASE } from '../../../ports/lease.ts';
import type { BegunRun, ChangeKind, NewRun, RunRef, SleepRun } from '../../../ports/storage-runs.ts';
import type { NewChange } from '../../run-change.ts';
import { type RunRow, toRun } from '../../run-row.ts';
import { type Connection, sql } from '../connection.ts';
import { COUNTS, RUN_COLUMNS } from '../run-row.ts';
import { assertFence } from '../write/lease.ts';

/** Begins a run, or takes up the one that was left unfinished. See `Storage.beginRun`. */
export function beginRun(connection: Connection, namespace: string, begin: NewRun): BegunRun {
  assertFence(connection, SLEEP_LEASE, begin.fence);
  const unfinished = sql(
    connection,
    "SELECT no, id, state FROM sleep_run WHERE namespace = ? AND state IN ('running', 'undoing') ORDER BY no DESC LIMIT 1",
  ).get(namespace) as { no: number; id: string; state: 'running' | 'undoing' } | undefined;
  const no = unfinished?.no ?? insertRun(connection, namespace, begin);
  const ref = { namespace, no, id: unfinished?.id ?? begin.id, fence: begin.fence };
  if (unfinished?.state === 'undoing') return { outcome: 'undoing', ref };
  const { settledUntil } = sql(
    connection,
    // What an unfinished run was to settle by a clock that has been set back since would be what is new now.
    `UPDATE sleep_run
     SET settled_until = CASE WHEN settled_until > @now THEN @settledUntil ELSE max(settled_until, @settledUntil) END
     WHERE no = @no RETURNING settled_until AS settledUntil`,
  ).get({ now: begin.startedAt, settledUntil: begin.settledUntil, no }) as { settledUntil: number };
  return { outcome: unfinished ? 'resumed' : 'begun', ref, settledUntil };
}

function insertRun(connection: Connection, namespace: string, { id, startedAt, settledUntil }: NewRun): number {
  const { lastInsertRowid } = sql(
    connection,
    "INSERT INTO sleep_run (namespace, id, state, started_at, settled_until) VALUES (?, ?, 'running', ?, ?)",
  ).run(namespace, id, startedAt, settledUntil);
  return Number(lastInsertRowid);
}

/** Notes that a run has done all its work, and what it came to. See `Storage.endRun`. */
export function endRun(
  connection: Connection,
  run: RunRef,
  endedAt: number,
  notes: Record<string, unknown> = {},
): SleepRun {
  assertRunning(connection, run);
  sql(
    connection,
    `UPDATE sleep_run AS r SET state = 'completed', ended_at = ?, counts = ${COUNTS}, notes = ? WHERE no = ?`,
  ).run(endedAt, JSON.stringify(notes), run.no);
  return toRun(sql(connection, `SELECT ${RUN_COLUMNS} FROM sleep_run r WHERE r.no = ?`).get(run.no) as RunRow);
}

/**
 * To be called first by every write of a run: throws UNAVAILABLE unless the run is under way and its process still holds
 * the lease.
 */
export function assertRunning(connection: Connection, run: RunRef): void {
  assertState(connection, run, 'running');
}

/** As `assertRunning`, for a run that is in another state. */
export function assertState(connection: Connection, run: RunRef, state: SleepRun['state']): void {
  assertFence(connection, SLEEP_LEASE, run.fence);
  const present = sql(connection, 'SELECT state FROM sleep_run WHERE no = ?').pluck().get(run.no);
  if (present !== state) throw new MemoryError('UNAVAILABLE', `the run is ${present ?? 'gone'}`);
}

/** Records a change in the transaction that makes it. The caller has asserted that the run is under way. */
export function recordChange<Kind extends ChangeKind>(
  connection: Connection,
  run: RunRef,
  { kind, ordinal, detail }: NewChange<Kind>,
): void {
  sql(
    connection,
    `INSERT INTO sleep_change (namespace, run, seq, kind, ordinal, detail)
     VALUES (@namespace, @no, coalesce((SELECT max(seq) FROM sleep_change WHERE run = @no), 0) + 1, @kind, @ordinal, @detail)`,
  ).run({ namespace: run.namespace, no: run.no, kind, ordinal, detail: JSON.stringify(detail) });
}
