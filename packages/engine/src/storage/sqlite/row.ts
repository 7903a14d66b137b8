/** The columns of a memory that callers see, to be selected from `memory m` joined by `WITH_ACCESS`. */
export const MEMORY_COLUMNS = `m.ordinal, m.id, m.session_id, m.source, m.tier, m.importance, m.created_at, m.stored_at,
  m.updated_at, m.expires_at, m.supersedes, m.superseded_by, m.merged_into, m.version, m.tags, m.metadata, m.content,
  coalesce(c.count, 0) AS access_count, c.last_at AS accessed_at,
  CASE WHEN m.tier = 'semantic' THEN (
    SELECT json_group_array(s.id ORDER BY s.created_at, s.ordinal)
    FROM memory_source l CROSS JOIN memory s ON s.ordinal = l.source WHERE l.semantic = m.ordinal
  ) ELSE '[]' END AS derived_from`;

/** Whether what corrects `memory m` has expired; null where nothing does. */
export const IS_CORRECTION_EXPIRED =
  '(SELECT s.expires_at <= @now FROM memory s WHERE s.namespace = m.namespace AND s.id = m.superseded_by)';

export const WITH_ACCESS = 'LEFT JOIN memory_access c ON c.ordinal = m.ordinal';

export const NOT_EXPIRED = '(m.expires_at IS NULL OR m.expires_at > @now)';
