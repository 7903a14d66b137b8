import { MemoryError } from '@memoryd/contract/errors';
import { CONSOLIDATION_LEASE } from '../../ports/coordination.ts';
import type {
  BegunRun,
  ChangeDetails,
  ChangeKind,
  ConsolidationRun,
  NewRun,
  RunChange,
  RunRef,
  RunState,
  UndoOutcome,
} from '../../ports/storage-consolidation.ts';
import type { Page, PageRequest } from '../../ports/storage-memories.ts';
import { fromJson } from '../damage.ts';
import { takePage } from '../memory-row.ts';
import { assertFence } from './database-marks.ts';
import { BEFORE_THE_LAST } from './filters.ts';
import { count, type Dialect, type Queries } from './queries.ts';
import { raw, type Sql, sql } from './sql.ts';

/** Begins a run, or takes up the one that was left unfinished. See `Storage.beginRun`. */
export async function beginRun(queries: Queries, namespace: string, begin: NewRun): Promise<BegunRun> {
  await assertFence(queries, CONSOLIDATION_LEASE, begin.fence);
  const unfinished = await queries.row<{ no: number; id: string; state: 'running' | 'undoing' }>(sql`
    SELECT no, id, state FROM consolidation_run
    WHERE namespace = ${namespace} AND state IN ('running', 'undoing') ORDER BY no DESC LIMIT 1`);
  const no = unfinished?.no ?? (await insertRun(queries, namespace, begin));
  const ref = { namespace, no, id: unfinished?.id ?? begin.id, fence: begin.fence };
  if (unfinished?.state === 'undoing') return { outcome: 'undoing', ref };
  // What an unfinished run was to promote by a clock that has been set back since would be what is new now.
  const promotion = (await queries.row<{ promotedUntil: number }>(sql`
    UPDATE consolidation_run SET promoted_until = CASE
        WHEN promoted_until > ${begin.startedAt} OR promoted_until < ${begin.promotedUntil}
          THEN CAST(${begin.promotedUntil} AS bigint)
        ELSE promoted_until END
    WHERE ${these(ref)} RETURNING promoted_until AS "promotedUntil"`)) as { promotedUntil: number };
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
): Promise<ConsolidationRun> {
  await assertRunning(queries, run);
  const { dialect } = queries;
  await queries.run(sql`
    UPDATE consolidation_run AS r SET state = 'completed', ended_at = ${endedAt}, counts = ${changeCounts(dialect)},
      notes = ${JSON.stringify(notes)}
    WHERE ${these(run)}`);
  const ended = await queries.row<RunRow>(
    sql`SELECT ${runColumns(dialect)} FROM consolidation_run r WHERE ${these(run)}`,
  );
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
export async function assertState(queries: Queries, run: RunRef, state: ConsolidationRun['state']): Promise<void> {
  await assertFence(queries, CONSOLIDATION_LEASE, run.fence);
  const present = await queries.row<Pick<ConsolidationRun, 'state'>>(
    sql`SELECT state FROM consolidation_run WHERE ${these(run)}`,
  );
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
    INSERT INTO consolidation_change (namespace, run, seq, kind, ordinal, detail)
    SELECT ${namespace}, CAST(${no} AS bigint),
      place + coalesce((SELECT max(seq) FROM consolidation_change WHERE ${ofRun}), 0), kind, ordinal, detail
    FROM ${records}`);
}

/** See `Storage.runs`. To be asked in a snapshot. */
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

/** See `Storage.changes`. To be asked in a snapshot. */
export async function changes(
  queries: Queries,
  namespace: string,
  no: number,
  page: PageRequest<number>,
): Promise<Page<RunChange, number>> {
  const ofIt = sql`c.namespace = ${namespace} AND c.run = ${no}`;
  const total = await count(queries, sql`consolidation_change c WHERE ${ofIt}`);
  const rows = await queries.rows<ChangeRow>(sql`
    SELECT seq, kind, id, detail FROM (
      SELECT *, sum(octet_length(detail)) OVER (ORDER BY seq ${BEFORE_THE_LAST}) AS before FROM (
        SELECT c.seq, c.kind, m.id, c.detail FROM consolidation_change c CROSS JOIN memory m
        WHERE ${ofIt} AND m.namespace = c.namespace AND m.ordinal = c.ordinal AND c.seq > ${page.after ?? 0}
        ORDER BY c.seq LIMIT ${page.limit + 1}) AS page) AS sized
    WHERE coalesce(before, 0) <= ${page.maxBytes} ORDER BY seq`);
  const ids = await getIds(queries, namespace, rows.flatMap(namedIn));
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

/** Returns the changes of `consolidation_run r` by kind, as JSON. */
export function changeCounts({ jsonObject }: Dialect): Sql {
  return sql`(SELECT ${jsonObject(raw('kind'), raw('count'))} FROM (
    SELECT kind, count(*) AS count FROM consolidation_change c WHERE c.namespace = r.namespace AND c.run = r.no
    GROUP BY kind) AS by_kind)`;
}

/** Returns the columns of `consolidation_run r` (`RunRow`). A run that is under way is counted as far as it has come. */
function runColumns(dialect: Dialect): Sql {
  return sql`r.no, r.id, r.state, r.started_at, r.ended_at, r.notes,
    CASE WHEN r.ended_at IS NULL THEN ${changeCounts(dialect)} ELSE r.counts END AS counts`;
}

/** The columns of a run, as both adapters select them; notes and counts are JSON. */
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
    counts: fromJson<Partial<Record<ChangeKind, number>>>(row.counts),
    notes: fromJson<Record<string, unknown>>(row.notes),
  };
}

/** Most bytes of the JSON of a run or a change, but for notes and details. */
const FIXED_FIELDS_BYTES = 512;

/** A page of runs. */
function takeRuns(rows: Iterable<RunRow>, request: PageRequest<number>, total: number): Page<ConsolidationRun, number> {
  return takePage(rows, request, total, {
    toItem: toRun,
    getBytes: (row) => FIXED_FIELDS_BYTES + row.notes.length,
    getPlace: (run) => run.no,
  });
}

/** What is looked at of a run before it is taken back. */
export interface UndoableRun {
  no: number;
  state: RunState;
  endedAt: number | null;
}

/** Why a run that is not being taken back cannot be, whatever came after it. */
export function refusedUndo({ state, endedAt }: UndoableRun, endedAfter: number): UndoOutcome | undefined {
  if (state !== 'completed') return { outcome: 'not-completed', state };
  return (endedAt ?? 0) <= endedAfter ? { outcome: 'too-old' } : undefined;
}

/** Most memories that a refused undo names. */
export const NAMED_LIMIT = 100;

/** What a run did to a memory. Never holds a text. */
interface NewChange<Kind extends ChangeKind> {
  kind: Kind;
  ordinal: number;
  detail: ChangeDetails[Kind];
}

/** A change that is to be taken back. */
export interface Recorded<Kind extends ChangeKind> {
  namespace: RunRef['namespace'];
  ordinal: number;
  detail: ChangeDetails[Kind];
}

/** The columns of a change, as both adapters select them; id is the memory's, detail is JSON. */
export interface ChangeRow {
  seq: number;
  kind: ChangeKind;
  id: string;
  detail: string;
}

/** The id of the memory at an ordinal; null when it has been forgotten. */
type GetId = (ordinal: number) => string | null;

/** The other memories that a change names. */
function namedIn({ detail }: ChangeRow): number[] {
  const { into, by, sources = [] } = fromJson<{ into?: number; by?: number; sources?: number[] }>(detail);
  return [into, by, ...sources].filter((ordinal) => ordinal !== undefined);
}

/** A page of changes. */
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
  const tell = TELL[kind] as Tell<ChangeKind>;
  return { seq, kind, id, ...tell(fromJson<ChangeDetails[ChangeKind]>(detail), getId) };
}

/** What a reader is told of a change beside its memory. */
type Tell<Kind extends ChangeKind> = (detail: ChangeDetails[Kind], getId: GetId) => Partial<RunChange>;

const TELL: { readonly [Kind in ChangeKind]: Tell<Kind> } = {
  promoted: () => ({}),
  merged: ({ into }, getId) => ({ mergedInto: getId(into) }),
  moved: ({ into }, getId) => ({ mergedInto: getId(into) }),
  gained: ({ tags, importance }) => ({ before: { tags, importance } }),
  distilled: ({ sources }, getId) => ({ derivedFrom: changedIds(sources, getId) }),
  refreshed: ({ sources }, getId) => ({ derivedFrom: changedIds(sources, getId) }),
  corrected: ({ by }, getId) => ({ supersededBy: getId(by) }),
  evicted: ({ reason }) => ({ reason }),
};

/** The ids of memories, those that have been forgotten left out. */
function changedIds(ordinals: readonly number[], getId: GetId): string[] {
  return ordinals.flatMap((ordinal) => getId(ordinal) ?? []);
}
