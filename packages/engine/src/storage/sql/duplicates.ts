import { alike, MERGEABLE } from '../conditions.ts';
import type { Dialect } from './dialect.ts';
import { raw, type Sql, sql } from './sql.ts';

/**
 * Returns a join, for each `memory c`, of itself and its duplicates as `m`, where they may be merged. A memory without a
 * session has none. ` AND …` may follow.
 */
export function joinDuplicates({ joinMemory }: Dialect): Sql {
  const key = {
    namespace: raw('c.namespace'),
    text_digest: raw('c.text_digest'),
    session_id: raw('c.session_id'),
  };
  return sql`${joinMemory('m', key, 'memory_by_text')} AND ${raw(`${alike('m', 'c')} AND ${MERGEABLE}`)}`;
}
