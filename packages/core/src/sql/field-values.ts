import { LIMITS } from '@memoryd/contract/limits';
import { getMetadataPath, type MemoryFilter } from '@memoryd/search';
import { toMoment } from '../validity.ts';
import { liveAndPassing, unlessOfUsers } from './filters.ts';
import { fromMemory } from './known.ts';
import type { Dialect } from './queries.ts';
import { raw, type Sql, sql } from './sql.ts';

/** The columns whose values are counted. */
const COLUMNS = new Set(['session_id', 'source', 'tier', 'user_id', 'agent_id']);

/**
 * Returns a query for the values of a field of the newest `LIMITS.countedMemories` memories that match a filter, and of
 * one more memory if more match. Its columns are `value`, which is null for a memory without one, `created_at`, and
 * `place`, the number of the memory from the newest on. A memory has a row for each of its tags.
 */
export function selectNewestValues(
  dialect: Dialect,
  namespace: string,
  { field, filter, now }: { field: string; filter: MemoryFilter; now: number },
): Sql {
  // An index by time would read all memories of the namespace to find the few with the words.
  const createdAt = filter.words
    ? dialect.unindexed(raw('m.created_at'))
    : unlessOfUsers(dialect, filter, 'created_at');
  const order = sql`ORDER BY ${createdAt} DESC, m.ordinal DESC`;
  const isTag = field === 'tag';
  return sql`
    SELECT ${raw(isTag ? 't.value' : 'm.value')} AS value, m.created_at, m.place FROM (
      SELECT m.created_at, row_number() OVER (${order}) AS place, ${getColumn(dialect, field)}
      FROM ${fromMemory(dialect, toMoment({ filter, now }))}
      WHERE ${liveAndPassing(dialect, namespace, filter, now)} ${order} LIMIT ${LIMITS.countedMemories + 1}) AS m
    ${isTag ? dialect.joinTags : raw('')}`;
}

/** Condition on a row of `selectNewestValues`: of one of the newest memories that are counted. */
export const IS_COUNTED = raw(`place <= ${LIMITS.countedMemories}`);

function getColumn(dialect: Dialect, field: string): Sql {
  if (field === 'tag') return raw('m.tags');
  if (COLUMNS.has(field)) return raw(`m.${field} AS value`);
  const name = getMetadataPath(field)?.join('.');
  if (name === undefined) throw new Error(`the values of the field ${field} cannot be counted`);
  return sql`${dialect.metadataText(name)} AS value`;
}
