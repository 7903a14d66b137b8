import { raw, type Sql, sql } from './sql.ts';

/** The columns of a memory that callers see (`MemoryRow`), to be selected from `memory m` joined by `WITH_ACCESS`. */
export const MEMORY_COLUMNS = raw(`m.ordinal, m.id, m.session_id, m.source, m.tier, m.importance, m.created_at,
  m.stored_at, m.updated_at, m.expires_at, m.supersedes, m.superseded_by, m.merged_into, m.version, m.tags, m.metadata,
  m.content, coalesce(c.count, 0) AS access_count, c.last_at AS accessed_at,
  CASE WHEN m.tier = 'semantic' THEN coalesce((
    SELECT json_agg(s.id ORDER BY s.created_at, s.ordinal)::text
    FROM memory_source l JOIN memory s ON s.namespace = l.namespace AND s.ordinal = l.source
    WHERE l.namespace = m.namespace AND l.semantic = m.ordinal), '[]')
  ELSE '[]' END AS derived_from`);

export const WITH_ACCESS = raw('LEFT JOIN memory_access c ON c.namespace = m.namespace AND c.ordinal = m.ordinal');
export const MEMORY_TABLES = sql`memory m ${WITH_ACCESS}`;

/** What retention rests on, from the same tables. See `Retainable` in core. */
export const RETAINABLE_COLUMNS = raw(`m.importance, m.stored_at AS "storedAt", coalesce(c.count, 0) AS "accessCount",
  c.last_at AS "accessedAt"`);

/** A condition on `memory m`. */
export function notExpired(now: number): Sql {
  return sql`(m.expires_at IS NULL OR m.expires_at > ${now})`;
}

/** Whether what corrects `memory m` has expired; null where nothing does. */
export function isCorrectionExpired(now: number): Sql {
  return sql`(SELECT s.expires_at <= ${now}
    FROM ${memoriesBy('s', raw('namespace = m.namespace AND id = m.superseded_by'))})`;
}

/**
 * The memories that have a key as `name`, to be joined: looked up by that key, whatever else is then asked of them and
 * however little the planner knows of the table, which else takes another index for as good.
 */
export function memoriesBy(name: 'm' | 's' | 'c', key: Sql): Sql {
  return sql`LATERAL (SELECT * FROM memory WHERE ${key} OFFSET 0) AS ${raw(name)}`;
}
