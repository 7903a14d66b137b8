import type { Dialect } from './dialect.ts';
import { raw, type Sql, sql } from './sql.ts';

/** Returns the columns of a memory that callers see (`MemoryRow`), of `memory m` joined by `WITH_ACCESS`. */
export function memoryColumns({ jsonArray }: Dialect): Sql {
  return sql`m.ordinal, m.id, m.session_id, m.source, m.tier, m.importance, m.created_at, m.stored_at, m.updated_at,
    m.expires_at, m.supersedes, m.superseded_by, m.merged_into, m.version, m.tags, m.metadata, m.content,
    coalesce(c.count, 0) AS access_count, c.last_at AS accessed_at,
    CASE WHEN m.tier = 'semantic' THEN (
      SELECT ${jsonArray(raw('s.id'), raw('s.created_at, s.ordinal'))} FROM memory_source l
      CROSS JOIN memory s WHERE l.namespace = m.namespace AND l.semantic = m.ordinal
        AND s.namespace = l.namespace AND s.ordinal = l.source)
    ELSE '[]' END AS derived_from`;
}

export const WITH_ACCESS = raw('LEFT JOIN memory_access c ON c.namespace = m.namespace AND c.ordinal = m.ordinal');
export const MEMORY_TABLES = sql`memory m ${WITH_ACCESS}`;

/** The columns that retention is computed from, of the same tables. See `Retainable` in core. */
export const RETAINABLE_COLUMNS = raw(`m.importance, m.stored_at AS "storedAt", coalesce(c.count, 0) AS "accessCount",
  c.last_at AS "accessedAt"`);

/** Returns a condition on `memory m`. */
export function notExpired(now: number): Sql {
  return sql`(m.expires_at IS NULL OR m.expires_at > ${now})`;
}
