import type { Page, PageRequest } from '../../../ports/page.ts';
import type { RunChange, SleepRun } from '../../../ports/storage-runs.ts';
import { type ChangeRow, takeChanges } from '../../run-change.ts';
import { type RunRow, takeRuns, toRun } from '../../run-row.ts';
import { type Connection, sql } from '../connection.ts';
import { RUN_COLUMNS } from '../run-row.ts';

/** See `Storage.runs`. */
export function runs(connection: Connection, namespace: string, page: PageRequest<number>): Page<SleepRun, number> {
  const total = sql(connection, 'SELECT count(*) FROM sleep_run WHERE namespace = ?').pluck().get(namespace) as number;
  const rows = sql(
    connection,
    `SELECT ${RUN_COLUMNS} FROM sleep_run r WHERE namespace = ? AND no < ? ORDER BY no DESC LIMIT ?`,
  ).iterate(namespace, page.after ?? Number.MAX_SAFE_INTEGER, page.limit + 1) as Iterable<RunRow>;
  return takeRuns(rows, page, total);
}

/** See `Storage.run`. */
export function run(connection: Connection, namespace: string, id: string): SleepRun | undefined {
  const row = sql(connection, `SELECT ${RUN_COLUMNS} FROM sleep_run r WHERE namespace = ? AND id = ?`).get(
    namespace,
    id,
  ) as RunRow | undefined;
  return row && toRun(row);
}

/** See `Storage.changes`. */
export function changes(
  connection: Connection,
  namespace: string,
  no: number,
  page: PageRequest<number>,
): Page<RunChange, number> {
  const total = sql(
    connection,
    'SELECT count(*) FROM sleep_change c JOIN sleep_run r ON r.no = c.run WHERE c.run = ? AND r.namespace = ?',
  )
    .pluck()
    .get(no, namespace) as number;
  const rows = sql(
    connection,
    `SELECT c.seq, c.kind, m.id, c.detail FROM sleep_change c CROSS JOIN memory m USING (ordinal)
     WHERE c.run = ? AND c.seq > ? AND m.namespace = ? ORDER BY c.seq LIMIT ?`,
  ).iterate(no, page.after ?? 0, namespace, page.limit + 1) as Iterable<ChangeRow>;
  const id = sql(connection, 'SELECT id FROM memory WHERE ordinal = ?').pluck();
  return takeChanges(rows, page, total, (ordinal) => (id.get(ordinal) as string | undefined) ?? null);
}
