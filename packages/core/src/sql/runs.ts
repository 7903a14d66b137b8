import { MemoryError } from '@memoryd/contract/errors';
import { CONSOLIDATION_LEASE } from '../ports/coordination.ts';
import type {
  BeginRunResult,
  ChangeDetails,
  ChangeKind,
  ConsolidationRun,
  NewRun,
  RunChange,
  RunRef,
  RunState,
  UndoOutcome,
} from '../ports/storage-consolidation.ts';
import type { Page, PageRequest } from '../ports/storage-memories.ts';
import { fromJson } from './corruption.ts';
import { assertFence } from './database-marks.ts';
import { BEFORE_THE_LAST } from './filters.ts';
import { takePage } from './memory-row.ts';
import { count, type Dialect, type Queries } from './queries.ts';
import { raw, type Sql, sql } from './sql.ts';

/** Starts a run, or resumes an unfinished one. See `Storage.beginRun`. */
export async function beginRun(queries: Queries, namespace: string, begin: NewRun): Promise<BeginRunResult> {
  await assertFence(queries, CONSOLIDATION_LEASE, begin.fence);
  const unfinished = await queries.row<{ no: number; id: string; state: 'running' | 'undoing' }>(sql`
    SELECT no, id, state FROM consolidation_run
    WHERE namespace = ${namespace} AND state IN ('running', 'undoing') ORDER BY no DESC LIMIT 1`);
  const no = unfinished?.no ?? (await insertRun(queries, namespace, begin));
  const ref = { namespace, no, id: unfinished?.id ?? begin.id, fence: begin.fence };
  if (unfinished?.state === 'undoing') return { outcome: 'undoing', ref };
  // If the clock was set back, the `promotedUntil` of an unfinished run lies in the future and would promote new
  // memories.
  const promotion = (await queries.row<{ promotedUntil: number }>(sql`
    UPDATE consolidation_run SET promoted_until = CASE
        WHEN promoted_until > ${begin.startedAt} OR promoted_until < ${begin.promotedUntil}
          THEN CAST(${begin.promotedUntil} AS bigint)
        ELSE promoted_until END
    WHERE ${isRun(ref)} RETURNING promoted_until AS "promotedUntil"`)) as { promotedUntil: number };
  return { outcome: unfinished ? 'resumed' : 'begun', ref, ...promotion };
}

async function insertRun(
  queries: Queries,
  namespace: string,
  { id, startedAt, promotedUntil }: NewRun,
): Promise<number> {
  const { no } = (await queries.row<{ no: number }>(sql`
    INSERT INTO consolidation_run (namespace, id, state, started_at, promoted_until)
    VALUES (${namespace}, ${id}, 'running', ${startedAt}, ${promotedUntil}) RETURNING no`)) as { no: number };
  return no;
}

/** Returns a condition that selects the row of the run. */
export function isRun({ namespace, no }: Pick<RunRef, 'namespace' | 'no'>): Sql {
  return sql`namespace = ${namespace} AND no = ${no}`;
}

/** Marks a run as completed and stores its change counts. See `Storage.endRun`. */
export async function endRun(
  queries: Queries,
  run: RunRef,
  endedAt: number,
  notes: Record<string, unknown> = {},
): Promise<ConsolidationRun> {
  await assertRunning(queries, run);
  const { dialect } = queries;
  await queries.run(sql`
    UPDATE consolidation_run AS r SET state = 'completed', ended_at = ${endedAt}, counts = ${changeCounts(dialect)},
      notes = ${JSON.stringify(notes)}
    WHERE ${isRun(run)}`);
  const ended = await queries.row<RunRow>(
    sql`SELECT ${runColumns(dialect)} FROM consolidation_run r WHERE ${isRun(run)}`,
  );
  return toRun(ended as RunRow);
}

/**
 * Throws UNAVAILABLE unless the run has the state `running` and its process has the lease. Neither the state nor the
 * lease can change until the transaction ends. Every write of a run must call `assertRunning` first.
 */
export function assertRunning(queries: Queries, run: RunRef): Promise<void> {
  return assertState(queries, run, 'running');
}

/** Same as `assertRunning`, for another state. */
export async function assertState(queries: Queries, run: RunRef, state: ConsolidationRun['state']): Promise<void> {
  await assertFence(queries, CONSOLIDATION_LEASE, run.fence);
  const present = await queries.row<Pick<ConsolidationRun, 'state'>>(
    sql`SELECT state FROM consolidation_run WHERE ${isRun(run)}`,
  );
  if (present?.state !== state)
    throw new MemoryError(
      'UNAVAILABLE',
      `consolidation run ${run.id} must have the state ${state}, but ${present ? `has the state ${present.state}` : 'is missing'}; retry later`,
    );
}

/** Records changes in order. Must run in the transaction of the changes, after `assertRunning`. */
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
  const isOfRun = sql`namespace = ${namespace} AND run = ${no}`;
  await queries.run(sql`
    INSERT INTO consolidation_change (namespace, run, seq, kind, ordinal, detail)
    SELECT ${namespace}, CAST(${no} AS bigint),
      place + coalesce((SELECT max(seq) FROM consolidation_change WHERE ${isOfRun}), 0), kind, ordinal, detail
    FROM ${records}`);
}

/** See `Storage.runs`. Must run in a snapshot. */
export async function runs(
  queries: Queries,
  namespace: string,
  page: PageRequest<number>,
): Promise<Page<ConsolidationRun, number>> {
  const total = await count(queries, sql`consolidation_run WHERE namespace = ${namespace}`);
  const rows = await queries.rows<RunRow>(sql`
    SELECT ${runColumns(queries.dialect)} FROM consolidation_run r
    WHERE namespace = ${namespace} AND no < ${page.after ?? Number.MAX_SAFE_INTEGER} ORDER BY no DESC LIMIT ${page.limit + 1}`);
  return takeRuns(rows, page, total);
}

/** See `Storage.run`. */
export async function run(queries: Queries, namespace: string, id: string): Promise<ConsolidationRun | undefined> {
  const row = await queries.row<RunRow>(
    sql`SELECT ${runColumns(queries.dialect)} FROM consolidation_run r WHERE namespace = ${namespace} AND id = ${id}`,
  );
  return row && toRun(row);
}

/** See `Storage.changes`. Must run in a snapshot. */
export async function changes(
  queries: Queries,
  namespace: string,
  no: number,
  page: PageRequest<number>,
): Promise<Page<RunChange, number>> {
  const isOfRun = sql`c.namespace = ${namespace} AND c.run = ${no}`;
  const total = await count(queries, sql`consolidation_change c WHERE ${isOfRun}`);
  const rows = await queries.rows<ChangeRow>(sql`
    SELECT seq, kind, id, detail FROM (
      SELECT *, sum(octet_length(detail)) OVER (ORDER BY seq ${BEFORE_THE_LAST}) AS before FROM (
        SELECT c.seq, c.kind, m.id, c.detail FROM consolidation_change c CROSS JOIN memory m
        WHERE ${isOfRun} AND m.namespace = c.namespace AND m.ordinal = c.ordinal AND c.seq > ${page.after ?? 0}
        ORDER BY c.seq LIMIT ${page.limit + 1}) AS page) AS sized
    WHERE coalesce(before, 0) <= ${page.maxBytes} ORDER BY seq`);
  const ids = await getIds(queries, namespace, rows.flatMap(getReferencedOrdinals));
  return takeChanges(rows, page, total, (ordinal) => ids.get(ordinal) ?? null);
}

async function getIds(
  queries: Queries,
  namespace: string,
  ordinals: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  if (ordinals.length === 0) return new Map();
  const rows = await queries.rows<{ ordinal: number; id: string }>(sql`
    SELECT m.ordinal, m.id FROM ${queries.dialect.ordinals('named', ordinals)} CROSS JOIN memory m
    WHERE m.namespace = ${namespace} AND m.ordinal = named.ordinal`);
  return new Map(rows.map(({ ordinal, id }) => [ordinal, id]));
}

/** Returns the number of changes of `consolidation_run r` by kind, as JSON. */
export function changeCounts({ jsonObject }: Dialect): Sql {
  return sql`(SELECT ${jsonObject(raw('kind'), raw('count'))} FROM (
    SELECT kind, count(*) AS count FROM consolidation_change c WHERE c.namespace = r.namespace AND c.run = r.no
    GROUP BY kind) AS by_kind)`;
}

/**
 * Returns the columns of a `RunRow` from `consolidation_run r`. The changes of an unfinished run are counted by the
 * query.
 */
function runColumns(dialect: Dialect): Sql {
  return sql`r.no, r.id, r.state, r.started_at, r.ended_at, r.notes,
    CASE WHEN r.ended_at IS NULL THEN ${changeCounts(dialect)} ELSE r.counts END AS counts`;
}

/** A selected run. `notes` and `counts` are JSON. */
interface RunRow {
  no: number;
  id: string;
  state: RunState;
  started_at: number;
  ended_at: number | null;
  notes: string;
  counts: string;
}

function toRun(row: RunRow): ConsolidationRun {
  return {
    no: row.no,
    id: row.id,
    state: row.state,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    counts: fromJson<Partial<Record<ChangeKind, number>>>(row.counts, 'the change counts of consolidation run', row.id),
    notes: fromJson<Record<string, unknown>>(row.notes, 'the notes of consolidation run', row.id),
  };
}

/** Maximum JSON bytes of a run without its notes, or of a change without its details. */
const FIXED_FIELDS_BYTES = 512;

/** Fills a page of runs. */
function takeRuns(rows: Iterable<RunRow>, request: PageRequest<number>, total: number): Page<ConsolidationRun, number> {
  return takePage(rows, request, total, {
    toItem: toRun,
    getBytes: (row) => FIXED_FIELDS_BYTES + row.notes.length,
    getPlace: (run) => run.no,
  });
}

/** The fields of a run that decide whether it can be undone. */
export interface UndoableRun {
  no: number;
  state: RunState;
  endedAt: number | null;
}

/** Returns the reason why a run cannot be undone, regardless of later runs; undefined if the run can be undone. */
export function refusedUndo(
  { state, endedAt }: UndoableRun,
  endedAfter: number,
): Extract<UndoOutcome, { outcome: 'not-completed' | 'too-old' }> | undefined {
  if (state !== 'completed') return { outcome: 'not-completed', state };
  return (endedAt ?? 0) <= endedAfter ? { outcome: 'too-old' } : undefined;
}

/** Maximum memory ids in the response to a rejected undo. */
export const MAX_REPORTED_IDS = 100;

/** A change that a run makes to a memory. `detail` never contains the text of a memory. */
interface NewChange<Kind extends ChangeKind> {
  kind: Kind;
  ordinal: number;
  detail: ChangeDetails[Kind];
}

/** A change to be undone. */
export interface Recorded<Kind extends ChangeKind> {
  namespace: RunRef['namespace'];
  ordinal: number;
  detail: ChangeDetails[Kind];
}

/** A selected change. `id` is the id of the memory; `detail` is JSON. */
export interface ChangeRow {
  seq: number;
  kind: ChangeKind;
  id: string;
  detail: string;
}

/** Returns the id of the memory with an ordinal, or null if it was forgotten. */
type GetId = (ordinal: number) => string | null;

/** The item of a change in errors of `fromJson`. */
export const CHANGE_OF_MEMORY = 'a recorded change of memory';

/** Returns the ordinals of the other memories that a change refers to. */
function getReferencedOrdinals({ id, detail }: ChangeRow): number[] {
  const {
    into,
    by,
    sources = [],
  } = fromJson<{ into?: number; by?: number; sources?: number[] }>(detail, CHANGE_OF_MEMORY, id);
  return [into, by, ...sources].filter((ordinal) => ordinal !== undefined);
}

/** Fills a page of changes. */
function takeChanges(
  rows: Iterable<ChangeRow>,
  request: PageRequest<number>,
  total: number,
  getId: GetId,
): Page<RunChange, number> {
  return takePage(rows, request, total, {
    toItem: (row) => toChange(row, getId),
    getBytes: (row) => FIXED_FIELDS_BYTES + row.detail.length,
    getPlace: (change) => change.seq,
  });
}

function toChange({ seq, kind, id, detail }: ChangeRow, getId: GetId): RunChange {
  const toPublicFields = PUBLIC_FIELDS[kind] as ToPublicFields<ChangeKind>;
  return { seq, kind, id, ...toPublicFields(fromJson<ChangeDetails[ChangeKind]>(detail, CHANGE_OF_MEMORY, id), getId) };
}

/** Converts the detail of a change to its public fields. */
type ToPublicFields<Kind extends ChangeKind> = (detail: ChangeDetails[Kind], getId: GetId) => Partial<RunChange>;

const PUBLIC_FIELDS: { readonly [Kind in ChangeKind]: ToPublicFields<Kind> } = {
  promoted: () => ({}),
  merged: ({ into }, getId) => ({ mergedInto: getId(into) }),
  moved: ({ into }, getId) => ({ mergedInto: getId(into) }),
  gained: ({ tags, importance }) => ({ before: { tags, importance } }),
  distilled: ({ sources }, getId) => ({ derivedFrom: getExistingIds(sources, getId) }),
  refreshed: ({ sources }, getId) => ({ derivedFrom: getExistingIds(sources, getId) }),
  corrected: ({ by }, getId) => ({ supersededBy: getId(by) }),
  evicted: ({ reason }) => ({ reason }),
};

/** Returns the ids of the memories that still exist. */
function getExistingIds(ordinals: readonly number[], getId: GetId): string[] {
  return ordinals.flatMap((ordinal) => getId(ordinal) ?? []);
}
