import type { Page, PageRequest } from '../../ports/page.ts';
import type { MemoryFilter, SessionSummaryRow } from '../../ports/storage-memories.ts';
import { liveAndPassing } from './filters.ts';
import { count, type Queries } from './queries.ts';
import { raw, sql } from './sql.ts';

/** See `Storage.sessions`. To be asked in a snapshot. */
export async function sessions(
  queries: Queries,
  namespace: string,
  filter: MemoryFilter,
  page: PageRequest<string>,
  now: number,
): Promise<Page<SessionSummaryRow, string>> {
  const passing = liveAndPassing(queries.dialect, namespace, filter, now);
  const after = page.after === undefined ? raw('m.session_id IS NOT NULL') : sql`m.session_id > ${page.after}`;
  const rows = await queries.rows<SessionSummaryRow>(sql`
    SELECT m.session_id AS "sessionId", count(*) AS total, min(m.created_at) AS "firstAt", max(m.created_at) AS "lastAt"
    FROM memory m WHERE ${passing} AND ${after}
    GROUP BY m.session_id ORDER BY m.session_id LIMIT ${page.limit + 1}`);
  const items = rows.slice(0, page.limit);
  const total = await count(
    queries,
    sql`(SELECT DISTINCT m.session_id FROM memory m WHERE ${passing} AND m.session_id IS NOT NULL) AS session`,
  );
  const last = items.at(-1);
  return rows.length > page.limit && last ? { items, total, next: last.sessionId } : { items, total };
}
