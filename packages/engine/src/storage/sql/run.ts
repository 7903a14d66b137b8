import { MemoryError } from '@memoryd/contract/errors';
import { SLEEP_LEASE } from '../../ports/lease.ts';
import type { BegunRun, ChangeKind, NewRun, RunRef, SleepRun } from '../../ports/storage-runs.ts';
import type { NewChange } from '../run-change.ts';
import { type RunRow, toRun } from '../run-row.ts';
import { assertFence } from './lease.ts';
import type { Queries } from './queries.ts';
import { changeCounts, runColumns } from './run-columns.ts';
import { type Sql, sql } from './sql.ts';

/** Begins a run, or takes up the one that was left unfinished. See `Storage.beginRun`. */
export async function beginRun(queries: Queries, namespace: string, begin: NewRun): Promise<BegunRun> {
  await assertFence(queries, SLEEP_LEASE, begin.fence);
  const unfinished = await queries.row<{ no: number; id: string; state: 'running' | 'undoing' }>(sql`
    SELECT no, id, state FROM sleep_run
    WHERE namespace = ${namespace} AND state IN ('running', 'undoing') ORDER BY no DESC LIMIT 1`);
  const no = unfinished?.no ?? (await insertRun(queries, namespace, begin));
  const ref = { namespace, no, id: unfinished?.id ?? begin.id, fence: begin.fence };
  if (unfinished?.state === 'undoing') return { outcome: 'undoing', ref };
  // What an unfinished run was to settle by a clock that has been set back since would be what is new now.
  const settling = (await queries.row<{ settledUntil: number }>(sql`
    UPDATE sleep_run SET settled_until = CASE
        WHEN settled_until > ${begin.startedAt} OR settled_until < ${begin.settledUntil}
          THEN CAST(${begin.settledUntil} AS bigint)
        ELSE settled_until END
    WHERE ${these(ref)} RETURNING settled_until AS "settledUntil"`)) as { settledUntil: number };
  return { outcome: unfinished ? 'resumed' : 'begun', ref, ...settling };
}

async function insertRun(
  queries: Queries,
  namespace: string,
  { id, startedAt, settledUntil }: NewRun,
): Promise<number> {
  const { no } = (await queries.row<{ no: number }>(sql`
    INSERT INTO sleep_run (namespace, id, state, started_at, settled_until)
    VALUES (${namespace}, ${id}, 'running', ${startedAt}, ${settledUntil}) RETURNING no`)) as { no: number };
  return no;
}

/** A condition: the row of a run. */
export function these({ namespace, no }: Pick<RunRef, 'namespace' | 'no'>): Sql {
  return sql`namespace = ${namespace} AND no = ${no}`;
}

/** Notes that a run has done all its work, and what it came to. See `Storage.endRun`. */
export async function endRun(
  queries: Queries,
  run: RunRef,
  endedAt: number,
  notes: Record<string, unknown> = {},
): Promise<SleepRun> {
  await assertRunning(queries, run);
  const { dialect } = queries;
  await queries.run(sql`
    UPDATE sleep_run AS r SET state = 'completed', ended_at = ${endedAt}, counts = ${changeCounts(dialect)},
      notes = ${JSON.stringify(notes)}
    WHERE ${these(run)}`);
  const ended = await queries.row<RunRow>(sql`SELECT ${runColumns(dialect)} FROM sleep_run r WHERE ${these(run)}`);
  return toRun(ended as RunRow);
}

/**
 * To be called first by every write of a run: throws UNAVAILABLE unless the run is under way and its process still holds
 * the lease. Neither changes until the transaction ends.
 */
export function assertRunning(queries: Queries, run: RunRef): Promise<void> {
  return assertState(queries, run, 'running');
}

/** As `assertRunning`, for a run that is in another state. */
export async function assertState(queries: Queries, run: RunRef, state: SleepRun['state']): Promise<void> {
  await assertFence(queries, SLEEP_LEASE, run.fence);
  const present = await queries.row<Pick<SleepRun, 'state'>>(sql`SELECT state FROM sleep_run WHERE ${these(run)}`);
  if (present?.state !== state) throw new MemoryError('UNAVAILABLE', `the run is ${present?.state ?? 'gone'}`);
}

/** Records changes, in their order, in the transaction that makes them. The caller has asserted that the run is under way. */
export async function recordChanges<Kind extends ChangeKind>(
  queries: Queries,
  { namespace, no }: RunRef,
  changes: readonly NewChange<Kind>[],
): Promise<void> {
  if (changes.length === 0) return;
  const records = queries.dialect.records(
    'change',
    { place: 'integer', kind: 'text', ordinal: 'bigint', detail: 'text' },
    changes.map(({ kind, ordinal, detail }, i) => ({ place: i + 1, kind, ordinal, detail: JSON.stringify(detail) })),
  );
  const ofRun = sql`namespace = ${namespace} AND run = ${no}`;
  await queries.run(sql`
    INSERT INTO sleep_change (namespace, run, seq, kind, ordinal, detail)
    SELECT ${namespace}, CAST(${no} AS bigint),
      place + coalesce((SELECT max(seq) FROM sleep_change WHERE ${ofRun}), 0), kind, ordinal, detail
    FROM ${records}`);
}
