import type { PageRequest, Position } from '../../../ports/page.ts';
import type { MemoryRow } from '../../memory-row.ts';
import type { Queries } from '../connection.ts';
import { MEMORY_COLUMNS, WITH_ACCESS } from '../row.ts';
import { raw, type Sql, sql } from '../sql.ts';

/**
 * The frame of a window: what comes before the row before. Where so much fits into a page, the row before may be its last,
 * and by the row itself it is known that another page follows.
 */
export const BEFORE_THE_LAST = raw('ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING');

/**
 * The memories that a condition on `memory m` lets through, in the order of (createdAt, ordinal) from a place on: one
 * more than the page may hold, but no more text than it needs, for the texts of ten thousand are more than a process
 * should read at once.
 */
export function readPage(
  queries: Queries,
  condition: Sql,
  { limit, maxBytes, after }: PageRequest<Position>,
  direction: 'oldest first' | 'newest first',
): Promise<MemoryRow[]> {
  const order = raw(direction === 'oldest first' ? 'ASC' : 'DESC');
  const beyond = raw(direction === 'oldest first' ? '>' : '<');
  const place = after
    ? sql`AND (m.created_at, m.ordinal) ${beyond} (${after.createdAt}::bigint, ${after.ordinal}::bigint)`
    : raw('');
  return queries.rows<MemoryRow>(sql`
    WITH page AS MATERIALIZED (
        SELECT m.namespace, m.ordinal, m.created_at, octet_length(m.content) AS bytes FROM memory m
        WHERE ${condition} ${place}
        ORDER BY m.created_at ${order}, m.ordinal ${order} LIMIT ${limit + 1}),
      sized AS (
        SELECT *, sum(bytes) OVER (ORDER BY created_at ${order}, ordinal ${order} ${BEFORE_THE_LAST}) AS before FROM page)
    SELECT ${MEMORY_COLUMNS} FROM sized JOIN memory m USING (namespace, ordinal) ${WITH_ACCESS}
    WHERE coalesce(sized.before, 0) <= ${maxBytes}
    ORDER BY m.created_at ${order}, m.ordinal ${order}`);
}
