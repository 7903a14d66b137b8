import { COUNTED } from './counters.ts';
import { IN_TIER } from './filters.ts';

/**
 * Checks of a database. `maxProblems` is the maximum of problems that a check reports. `statements` inconsistent
 * counts, links, run records, sources and distillation queues, one problem per row. Databases add checks of their index
 * entries and attributes.
 */
export const INTEGRITY: { readonly maxProblems: number; readonly statements: readonly string[] } = {
  maxProblems: 100,
  statements: [
    `SELECT CASE WHEN user_id = '' THEN '' ELSE 'user ' || user_id || ' in ' END || 'namespace ' || namespace || ' has a '
     || tier || ' count of ' || coalesce(kept.count, 0) || ', expected ' || coalesce(counted.count, 0)
   FROM (SELECT namespace, user_id, tier, sum(count) AS count FROM tier_count GROUP BY namespace, user_id, tier) kept
   FULL JOIN (
     SELECT namespace, '' AS user_id, tier, count(*) AS count FROM memory m WHERE ${IN_TIER} GROUP BY namespace, tier
     UNION ALL
     SELECT namespace, user_id, tier, count(*) FROM memory m WHERE ${IN_TIER} AND user_id <> ''
     GROUP BY namespace, user_id, tier) counted USING (namespace, user_id, tier)
   WHERE coalesce(kept.count, 0) <> coalesce(counted.count, 0)`,
    `SELECT 'the counts of session ' || session_id || ' in namespace ' || namespace || ' are wrong'
   FROM (
     SELECT namespace, session_id, user_id, agent_id, sum(count) AS count, min(first_at) AS first_at,
       max(last_at) AS last_at
     FROM session_count GROUP BY namespace, session_id, user_id, agent_id
     HAVING sum(count) <> 0 OR min(first_at) IS NOT NULL) kept
   FULL JOIN (
     SELECT namespace, session_id, user_id, agent_id, count(*) AS count, min(created_at) AS first_at,
       max(created_at) AS last_at
     FROM memory m WHERE ${IN_TIER} AND session_id IS NOT NULL
     GROUP BY namespace, session_id, user_id, agent_id) counted USING (namespace, session_id, user_id, agent_id)
   WHERE kept.count IS DISTINCT FROM counted.count OR kept.first_at IS DISTINCT FROM counted.first_at
     OR kept.last_at IS DISTINCT FROM counted.last_at`,
    `SELECT 'the number of users or sessions of namespace ' || namespace || ' is wrong'
   FROM (
     SELECT namespace, sum(users) AS users, sum(sessions) AS sessions FROM usage WHERE user_id = '' GROUP BY namespace) kept
   FULL JOIN (
     SELECT namespace, sum(users) AS users, sum(sessions) AS sessions
     FROM (
       SELECT namespace, count(DISTINCT user_id) AS users, 0 AS sessions FROM memory WHERE user_id <> '' GROUP BY namespace
       UNION ALL
       SELECT namespace, 0, count(*) FROM (
         SELECT DISTINCT namespace, session_id, user_id FROM memory m WHERE ${IN_TIER} AND session_id IS NOT NULL)
         AS session
       GROUP BY namespace) AS each_kind
     GROUP BY namespace) counted USING (namespace)
   WHERE coalesce(kept.users, 0) <> coalesce(counted.users, 0)
     OR coalesce(kept.sessions, 0) <> coalesce(counted.sessions, 0)`,
    `SELECT 'user ' || coalesce(kept.user_id, counted.user_id) || ' in namespace ' || namespace || ' is not listed correctly'
   FROM (
     SELECT namespace, user_id, max(last_stored_at) AS last_at FROM usage WHERE user_id <> ''
     GROUP BY namespace, user_id) kept
   FULL JOIN (
     SELECT namespace, user_id, max(stored_at) FILTER (WHERE tier <> 'semantic') AS last_at FROM memory
     WHERE user_id <> '' GROUP BY namespace, user_id) counted USING (namespace, user_id)
   WHERE kept.last_at IS NULL OR counted.user_id IS NULL OR kept.last_at < counted.last_at`,
    `SELECT 'the usage of namespace ' || namespace || ' is wrong'
   FROM (
     SELECT namespace, sum(memories) AS memories, sum(bytes) AS bytes FROM usage WHERE user_id = '' GROUP BY namespace) kept
   FULL JOIN (SELECT m.namespace, ${COUNTED.text} FROM memory m GROUP BY m.namespace) counted USING (namespace)
   WHERE coalesce(kept.memories, 0) <> coalesce(counted.memories, 0)
     OR coalesce(kept.bytes, 0) <> coalesce(counted.bytes, 0)`,
    `SELECT 'the usage of user ' || user_id || ' in namespace ' || namespace || ' is wrong'
   FROM (
     SELECT namespace, user_id, sum(memories) AS memories, sum(bytes) AS bytes FROM usage
     WHERE user_id <> '' GROUP BY namespace, user_id) kept
   FULL JOIN (
     SELECT m.namespace, m.user_id, ${COUNTED.text} FROM memory m WHERE m.user_id <> '' GROUP BY m.namespace, m.user_id)
     counted USING (namespace, user_id)
   WHERE coalesce(kept.memories, 0) <> coalesce(counted.memories, 0)
     OR coalesce(kept.bytes, 0) <> coalesce(counted.bytes, 0)`,
    `SELECT 'memory ' || m.ordinal || ' is linked to a memory of another user or agent' FROM (
     SELECT namespace, ordinal, user_id, agent_id, merged_into AS linked FROM memory WHERE merged_into IS NOT NULL
     UNION ALL
     SELECT namespace, ordinal, user_id, agent_id, supersedes FROM memory WHERE supersedes IS NOT NULL) m
   JOIN memory s ON s.namespace = m.namespace AND s.id = m.linked
   WHERE s.user_id <> m.user_id OR s.agent_id <> m.agent_id`,
    `SELECT 'memory ' || l.semantic || ' was distilled from a memory of another user or agent' FROM memory_source l
   JOIN memory m ON m.namespace = l.namespace AND m.ordinal = l.semantic
   JOIN memory s ON s.namespace = l.namespace AND s.ordinal = l.source
   WHERE s.user_id <> m.user_id OR s.agent_id <> m.agent_id`,
    `SELECT 'memory ' || m.ordinal || ' was merged into a missing memory' FROM memory m
   LEFT JOIN memory s ON s.namespace = m.namespace AND s.id = m.merged_into
   WHERE m.merged_into IS NOT NULL AND s.ordinal IS NULL`,
    `SELECT 'memory ' || l.successor || ' supersedes memory ' || l.ordinal || ' of another user or agent' FROM succession l
   JOIN memory m ON m.namespace = l.namespace AND m.ordinal = l.ordinal
   JOIN memory s ON s.namespace = l.namespace AND s.ordinal = l.successor
   WHERE s.user_id <> m.user_id OR s.agent_id <> m.agent_id`,
    `SELECT 'memory ' || l.successor || ' supersedes memory ' || l.ordinal || ', and one of them is missing'
   FROM succession l
   LEFT JOIN memory m ON m.namespace = l.namespace AND m.ordinal = l.ordinal
   LEFT JOIN memory s ON s.namespace = l.namespace AND s.ordinal = l.successor
   WHERE m.ordinal IS NULL OR s.ordinal IS NULL`,
    `SELECT 'the attachment of memory ' || coalesce(a.ordinal, m.ordinal) || ' is missing, or has no row or another size'
   FROM (SELECT namespace, ordinal, attachment_bytes FROM memory WHERE attachment_bytes > 0) m
   FULL JOIN (SELECT namespace, ordinal, octet_length(attachment) AS bytes FROM memory_attachment) a
     USING (namespace, ordinal)
   WHERE m.attachment_bytes IS DISTINCT FROM a.bytes`,
    `SELECT 'memory ' || coalesce(w.ordinal, m.ordinal) || ' has no words, or words but no row'
   FROM (SELECT namespace, ordinal FROM memory) m FULL JOIN memory_words w USING (namespace, ordinal)
   WHERE m.ordinal IS NULL OR w.ordinal IS NULL`,
    `SELECT DISTINCT 'memory ' || h.ordinal || ' has a history but no row' FROM memory_history h
   LEFT JOIN memory m USING (namespace, ordinal) WHERE m.ordinal IS NULL`,
    `SELECT DISTINCT 'memory ' || h.ordinal || ' has earlier fields but no row' FROM field_history h
   LEFT JOIN memory m USING (namespace, ordinal) WHERE m.ordinal IS NULL`,
    `SELECT DISTINCT 'memory ' || h.ordinal || ' was merged into or superseded a missing memory' FROM field_history h
   LEFT JOIN memory o ON o.namespace = h.namespace AND o.id = h.merged_into
   LEFT JOIN memory s ON s.namespace = h.namespace AND s.id = h.supersedes
   WHERE h.merged_into IS NOT NULL AND o.ordinal IS NULL OR h.supersedes IS NOT NULL AND s.ordinal IS NULL`,
    `SELECT 'memory ' || a.ordinal || ' has an access count but no row' FROM memory_access a
   LEFT JOIN memory m USING (namespace, ordinal) WHERE m.ordinal IS NULL`,
    `SELECT 'memory ' || i.ordinal || ' belongs to import ' || i.run || ', and one of them is missing' FROM imported_memory i
   LEFT JOIN memory m USING (namespace, ordinal)
   LEFT JOIN import_run r ON r.namespace = i.namespace AND r.no = i.run
   WHERE m.ordinal IS NULL OR r.no IS NULL`,
    `SELECT 'memory ' || i.ordinal || ' was changed by import ' || i.changed_by || ', which is missing' FROM imported_memory i
   LEFT JOIN import_run r ON r.namespace = i.namespace AND r.no = i.changed_by
   WHERE i.changed_by IS NOT NULL AND r.no IS NULL`,
    `SELECT 'memory ' || c.ordinal || ' was changed by change ' || c.change || ', and one of them is missing'
   FROM changed_memory c
   LEFT JOIN memory m USING (namespace, ordinal)
   LEFT JOIN bulk_change b ON b.namespace = c.namespace AND b.no = c.change
   WHERE m.ordinal IS NULL OR b.no IS NULL`,
    `SELECT 'correction ' || c.id || ' is of a missing memory, or of memories of different users or agents'
   FROM correction c
   LEFT JOIN memory e ON e.namespace = c.namespace AND e.ordinal = c.earlier
     AND e.user_id = c.user_id AND e.agent_id = c.agent_id
   LEFT JOIN memory l ON l.namespace = c.namespace AND l.ordinal = c.later
     AND l.user_id = c.user_id AND l.agent_id = c.agent_id
   WHERE e.ordinal IS NULL OR l.ordinal IS NULL`,
    `SELECT 'run ' || c.run || ' has changes but no row' FROM consolidation_change c
   LEFT JOIN consolidation_run r ON r.namespace = c.namespace AND r.no = c.run WHERE r.no IS NULL`,
    `SELECT 'run ' || c.run || ' has a change of memory ' || c.ordinal || ', which is missing' FROM consolidation_change c
   LEFT JOIN memory m USING (namespace, ordinal) WHERE m.ordinal IS NULL`,
    `SELECT 'namespace ' || namespace || ' has ' || count(*) || ' unfinished runs' FROM consolidation_run
   WHERE state IN ('running', 'undoing') GROUP BY namespace HAVING count(*) > 1`,
    `SELECT 'memory ' || l.source || ' is not a valid source of memory ' || l.semantic FROM memory_source l
   LEFT JOIN memory m ON m.namespace = l.namespace AND m.ordinal = l.semantic AND m.tier = 'semantic'
   LEFT JOIN memory s ON s.namespace = l.namespace AND s.ordinal = l.source AND s.tier <> 'semantic'
   WHERE m.ordinal IS NULL OR s.ordinal IS NULL`,
    `SELECT 'memory ' || m.ordinal || ' is semantic and has no source' FROM memory m
   LEFT JOIN memory_source l ON l.namespace = m.namespace AND l.semantic = m.ordinal
   WHERE m.tier = 'semantic' AND l.source IS NULL AND m.revision IS NOT DISTINCT FROM m.distilled_revision`,
    `SELECT 'memory ' || c.ordinal || ' is queued for distillation but cannot be distilled' FROM distil_candidate c
   LEFT JOIN memory m
     ON m.namespace = c.namespace AND m.ordinal = c.ordinal AND m.tier <> 'semantic' AND ${IN_TIER}
   WHERE m.ordinal IS NULL`,
  ],
};
