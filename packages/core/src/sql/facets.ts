import { LIMITS } from '@memoryd/contract/limits';
import { isOpen, type MemoryFilter } from '@memoryd/search';
import type { Facet, FacetSelection } from '../ports/storage-memories.ts';
import { IS_COUNTED, selectNewestValues } from './field-values.ts';
import { IN_TIER, isOfOwners } from './filters.ts';
import type { Dialect, Queries } from './queries.ts';
import { isCounted } from './sessions.ts';
import { raw, type Sql, sql } from './sql.ts';

/** See `Storage.facet`. Must run in a snapshot. */
export async function facet(
  queries: Queries,
  namespace: string,
  filter: MemoryFilter,
  { field, prefix, limit }: FacetSelection,
  now: number,
): Promise<Facet> {
  const { dialect } = queries;
  const stored = selectStoredCounts(dialect, namespace, filter, field, now);
  const source = stored ?? selectNewestValues(dialect, namespace, { field, filter, now });
  const counted = stored
    ? sql`SELECT value, CAST(sum(count) AS bigint) AS count FROM source WHERE ${hasPrefix(dialect, prefix)}
        GROUP BY value HAVING sum(count) > 0`
    : sql`SELECT value, count(*) AS count FROM source
        WHERE ${IS_COUNTED} AND length(value) <= ${LIMITS.facetValueChars} AND ${hasPrefix(dialect, prefix)} GROUP BY value`;
  const isPartial = stored ? raw('0') : sql`(SELECT max(place) FROM source)`;
  const rows = await queries.rows<{ newest: number | null; total: number; value: string | null; count: number }>(sql`
    WITH source AS MATERIALIZED (${source}), counted AS MATERIALIZED (${counted})
    SELECT ${isPartial} AS newest, every.total, page.value, page.count
    FROM (SELECT count(*) AS total FROM counted) AS every
      LEFT JOIN (SELECT * FROM counted ORDER BY count DESC, value LIMIT ${limit}) AS page ON true
    ORDER BY page.count DESC, page.value`);
  const [{ newest = 0, total = 0 } = {}] = rows;
  return {
    values: rows.flatMap(({ value, count }) => (value === null ? [] : [{ value, count }])),
    total,
    isPartial: (newest ?? 0) > LIMITS.countedMemories,
  };
}

function hasPrefix({ beginsWith }: Dialect, prefix: string | undefined): Sql {
  return prefix === undefined ? raw('true') : beginsWith(raw('value'), Array.from(prefix, getCases));
}

/** Returns a character and its lower and upper case, as far as each is one character. */
function getCases(character: string): string[] {
  const cases = new Set([character, character.toLowerCase(), character.toUpperCase()]);
  return [...cases].filter((one) => [...one].length === 1);
}

/**
 * Returns a query for numbers of memories whose sums by `value` are the numbers of live memories, from stored counts. A
 * value can have several rows. Returns undefined if the stored counts do not answer the filter.
 */
function selectStoredCounts(
  dialect: Dialect,
  namespace: string,
  filter: MemoryFilter,
  field: string,
  now: number,
): Sql | undefined {
  // The stored counts include expired memories, which are subtracted here.
  const expired = (column: Sql) => sql`
    SELECT ${column} AS value, -count(*) AS count FROM memory m ${dialect.indexedBy('memory_expiring')}
    WHERE m.namespace = ${namespace} AND ${isOfOwners(dialect, filter)} AND m.expires_at <= ${now} AND ${raw(IN_TIER)}
      AND ${column} IS NOT NULL
    GROUP BY ${column}`;
  if (field === 'user_id' && isOpen(filter)) {
    // The row without a user counts the memories of all users.
    return sql`
      SELECT user_id AS value, sum(count) AS count FROM tier_count WHERE namespace = ${namespace} AND user_id <> ''
      GROUP BY user_id
      UNION ALL SELECT '', sum(CASE WHEN user_id = '' THEN count ELSE -count END) FROM tier_count
      WHERE namespace = ${namespace}
      UNION ALL ${expired(raw('m.user_id'))}`;
  }
  if (field === 'session_id' && isCounted(filter)) {
    return sql`
      SELECT m.session_id AS value, sum(m.count) AS count FROM session_count m
      WHERE m.namespace = ${namespace} AND ${isOfOwners(dialect, filter)} GROUP BY m.session_id
      UNION ALL ${expired(raw('m.session_id'))}`;
  }
  return undefined;
}
