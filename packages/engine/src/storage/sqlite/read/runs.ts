import type { ChangeDetails, ChangeKind, Page, PageRequest, RunChange, SleepRun } from '../../../ports/storage.ts';
import { fromJson } from '../../damage.ts';
import { takePage } from '../../page.ts';
import { type RunRow, toRun } from '../../run-row.ts';
import { type Connection, sql } from '../connection.ts';
import { RUN_COLUMNS } from '../run-row.ts';

/** Most bytes of the JSON of a run or a change, but for notes and details. */
const FIXED_FIELDS_BYTES = 512;

/** See `Storage.runs`. */
export function runs(connection: Connection, namespace: string, page: PageRequest<number>): Page<SleepRun, number> {
  const total = sql(connection, 'SELECT count(*) FROM sleep_run WHERE namespace = ?').pluck().get(namespace) as number;
  const rows = sql(
    connection,
    `SELECT ${RUN_COLUMNS} FROM sleep_run r WHERE namespace = ? AND no < ? ORDER BY no DESC LIMIT ?`,
  ).iterate(namespace, page.after ?? Number.MAX_SAFE_INTEGER, page.limit + 1) as Iterable<RunRow>;
  return takePage(rows, page, total, {
    toItem: toRun,
    bytesOf: (row) => FIXED_FIELDS_BYTES + row.notes.length,
    placeOf: (run) => run.no,
  });
}

/** See `Storage.run`. */
export function run(connection: Connection, namespace: string, id: string): SleepRun | undefined {
  const row = sql(connection, `SELECT ${RUN_COLUMNS} FROM sleep_run r WHERE namespace = ? AND id = ?`).get(
    namespace,
    id,
  ) as RunRow | undefined;
  return row && toRun(row);
}

interface ChangeRow {
  seq: number;
  kind: ChangeKind;
  id: string;
  detail: string;
}

/** See `Storage.changes`. */
export function changes(connection: Connection, no: number, page: PageRequest<number>): Page<RunChange, number> {
  const total = sql(connection, 'SELECT count(*) FROM sleep_change WHERE run = ?').pluck().get(no) as number;
  const rows = sql(
    connection,
    `SELECT c.seq, c.kind, m.id, c.detail FROM sleep_change c CROSS JOIN memory m USING (ordinal)
     WHERE c.run = ? AND c.seq > ? ORDER BY c.seq LIMIT ?`,
  ).iterate(no, page.after ?? 0, page.limit + 1) as Iterable<ChangeRow>;
  return takePage(rows, page, total, {
    toItem: (row) => toChange(connection, row),
    bytesOf: (row) => FIXED_FIELDS_BYTES + row.detail.length,
    placeOf: (change) => change.seq,
  });
}

function toChange(connection: Connection, { seq, kind, id, detail }: ChangeRow): RunChange {
  const tell = TELL[kind] as Tell<ChangeKind>;
  return { seq, kind, id, ...tell(connection, fromJson<ChangeDetails[ChangeKind]>(detail)) };
}

/** What a reader is told of a change beside its memory. */
type Tell<Kind extends ChangeKind> = (connection: Connection, detail: ChangeDetails[Kind]) => Partial<RunChange>;

const TELL: { readonly [Kind in ChangeKind]: Tell<Kind> } = {
  settled: () => ({}),
  merged: (connection, { into }) => ({ mergedInto: idOf(connection, into) }),
  moved: (connection, { into }) => ({ mergedInto: idOf(connection, into) }),
  gained: (_connection, { tags, importance }) => ({ before: { tags, importance } }),
  distilled: (connection, { sources }) => ({ derivedFrom: idsOf(connection, sources) }),
  refreshed: (connection, { sources }) => ({ derivedFrom: idsOf(connection, sources) }),
  corrected: (connection, { by }) => ({ supersededBy: idOf(connection, by) }),
  evicted: (_connection, { reason }) => ({ reason }),
};

/** The ids of memories, those that have been forgotten left out. */
function idsOf(connection: Connection, ordinals: readonly number[]): string[] {
  return ordinals.flatMap((ordinal) => idOf(connection, ordinal) ?? []);
}

/** The id of a memory; null when it has been forgotten. */
function idOf(connection: Connection, ordinal: number): string | null {
  return (
    (sql(connection, 'SELECT id FROM memory WHERE ordinal = ?').pluck().get(ordinal) as string | undefined) ?? null
  );
}
