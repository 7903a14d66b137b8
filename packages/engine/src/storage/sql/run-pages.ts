import type { Page, PageRequest } from '../../ports/page.ts';
import type { RunChange, SleepRun } from '../../ports/storage-runs.ts';
import { type ChangeRow, namedIn, takeChanges } from '../run-change.ts';
import { type RunRow, takeRuns, toRun } from '../run-row.ts';
import { BEFORE_THE_LAST } from './page-window.ts';
import { count, type Queries } from './queries.ts';
import { runColumns } from './run-columns.ts';
import { sql } from './sql.ts';

/** See `Storage.runs`. To be asked in a snapshot. */
export async function runs(
  queries: Queries,
  namespace: string,
  page: PageRequest<number>,
): Promise<Page<SleepRun, number>> {
  const total = await count(queries, sql`sleep_run WHERE namespace = ${namespace}`);
  const rows = await queries.rows<RunRow>(sql`
    SELECT ${runColumns(queries.dialect)} FROM sleep_run r
    WHERE namespace = ${namespace} AND no < ${page.after ?? Number.MAX_SAFE_INTEGER} ORDER BY no DESC LIMIT ${page.limit + 1}`);
  return takeRuns(rows, page, total);
}

/** See `Storage.run`. */
export async function run(queries: Queries, namespace: string, id: string): Promise<SleepRun | undefined> {
  const row = await queries.row<RunRow>(
    sql`SELECT ${runColumns(queries.dialect)} FROM sleep_run r WHERE namespace = ${namespace} AND id = ${id}`,
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
  const total = await count(queries, sql`sleep_change c WHERE ${ofIt}`);
  const rows = await queries.rows<ChangeRow>(sql`
    SELECT seq, kind, id, detail FROM (
      SELECT *, sum(octet_length(detail)) OVER (ORDER BY seq ${BEFORE_THE_LAST}) AS before FROM (
        SELECT c.seq, c.kind, m.id, c.detail FROM sleep_change c CROSS JOIN memory m
        WHERE ${ofIt} AND m.namespace = c.namespace AND m.ordinal = c.ordinal AND c.seq > ${page.after ?? 0}
        ORDER BY c.seq LIMIT ${page.limit + 1}) AS page) AS sized
    WHERE coalesce(before, 0) <= ${page.maxBytes} ORDER BY seq`);
  const ids = await idsOf(queries, namespace, rows.flatMap(namedIn));
  return takeChanges(rows, page, total, (ordinal) => ids.get(ordinal) ?? null);
}

async function idsOf(
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
