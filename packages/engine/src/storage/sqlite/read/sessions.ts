import type { Page, PageRequest } from '../../../ports/page.ts';
import type { MemoryFilter, SessionSummaryRow } from '../../../ports/storage-memories.ts';
import { type Connection, sql } from '../connection.ts';
import { liveAndPassing } from '../filter.ts';

/** See `Storage.sessions`. */
export function sessions(
  connection: Connection,
  namespace: string,
  filter: MemoryFilter,
  page: PageRequest<string>,
  now: number,
): Page<SessionSummaryRow, string> {
  const passing = liveAndPassing(namespace, filter, now);
  const after = page.after === undefined ? 'm.session_id IS NOT NULL' : 'm.session_id > @after';
  const rows = sql(
    connection,
    `SELECT m.session_id AS sessionId, count(*) AS total, min(m.created_at) AS firstAt, max(m.created_at) AS lastAt
     FROM ${passing.from} WHERE ${passing.where} AND ${after}
     GROUP BY m.session_id ORDER BY m.session_id LIMIT @limit`,
  ).all({ ...passing.values, ...(page.after === undefined ? {} : { after: page.after }), limit: page.limit + 1 });
  const items = rows.slice(0, page.limit) as SessionSummaryRow[];
  const total = sql(connection, `SELECT count(DISTINCT m.session_id) FROM ${passing.from} WHERE ${passing.where}`)
    .pluck()
    .get(passing.values) as number;
  const last = items.at(-1);
  return rows.length > page.limit && last ? { items, total, next: last.sessionId } : { items, total };
}
