import { COUNTED } from './counters.ts';
import { IN_TIER } from './filters.ts';

/** Most problems that a check of a database reports. */
export const MAX_PROBLEMS = 100;

/**
 * Statements that find what is wrong with counts, links, records of runs and what was distilled, a problem a row. An adapter
 * adds what recall and filters know memories by.
 */
export const PROBLEMS: readonly string[] = [
  `SELECT 'namespace ' || namespace || ' counts ' || coalesce(kept.count, 0) || ' ' || tier
     || ' memories and has ' || coalesce(counted.count, 0)
   FROM (SELECT namespace, tier, sum(count) AS count FROM tier_count GROUP BY namespace, tier) kept
   FULL JOIN (SELECT namespace, tier, count(*) AS count FROM memory m WHERE ${IN_TIER} GROUP BY namespace, tier) counted
     USING (namespace, tier)
   WHERE coalesce(kept.count, 0) <> coalesce(counted.count, 0)`,
  `SELECT 'namespace ' || namespace || ' is not counted as it is'
   FROM (
     SELECT namespace, sum(memories) AS memories, sum(bytes) AS bytes FROM usage WHERE user_id = '' GROUP BY namespace) kept
   FULL JOIN (SELECT m.namespace, ${COUNTED.text} FROM memory m GROUP BY m.namespace) counted USING (namespace)
   WHERE coalesce(kept.memories, 0) <> coalesce(counted.memories, 0)
     OR coalesce(kept.bytes, 0) <> coalesce(counted.bytes, 0)`,
  `SELECT 'user ' || user_id || ' of namespace ' || namespace || ' is not counted as it is'
   FROM (
     SELECT namespace, user_id, sum(memories) AS memories, sum(bytes) AS bytes FROM usage
     WHERE user_id <> '' GROUP BY namespace, user_id) kept
   FULL JOIN (
     SELECT m.namespace, m.user_id, ${COUNTED.text} FROM memory m WHERE m.user_id <> '' GROUP BY m.namespace, m.user_id)
     counted USING (namespace, user_id)
   WHERE coalesce(kept.memories, 0) <> coalesce(counted.memories, 0)
     OR coalesce(kept.bytes, 0) <> coalesce(counted.bytes, 0)`,
  `SELECT 'memory ' || m.ordinal || ' is linked to one of another user or agent' FROM memory m
   JOIN memory s ON s.namespace = m.namespace AND s.id IN (m.merged_into, m.superseded_by, m.supersedes)
   WHERE s.user_id <> m.user_id OR s.agent_id <> m.agent_id`,
  `SELECT 'memory ' || l.semantic || ' was distilled from one of another user or agent' FROM memory_source l
   JOIN memory m ON m.namespace = l.namespace AND m.ordinal = l.semantic
   JOIN memory s ON s.namespace = l.namespace AND s.ordinal = l.source
   WHERE s.user_id <> m.user_id OR s.agent_id <> m.agent_id`,
  `SELECT 'memory ' || m.ordinal || ' was merged into one that does not exist' FROM memory m
   LEFT JOIN memory s ON s.namespace = m.namespace AND s.id = m.merged_into
   WHERE m.merged_into IS NOT NULL AND s.ordinal IS NULL`,
  `SELECT 'memory ' || m.ordinal || ' is corrected by one that does not exist' FROM memory m
   LEFT JOIN memory s ON s.namespace = m.namespace AND s.id = m.superseded_by
   WHERE m.superseded_by IS NOT NULL AND s.ordinal IS NULL`,
  `SELECT DISTINCT 'memory ' || h.ordinal || ' has a history and does not exist' FROM memory_history h
   LEFT JOIN memory m USING (namespace, ordinal) WHERE m.ordinal IS NULL`,
  `SELECT 'memory ' || a.ordinal || ' has been given out and does not exist' FROM memory_access a
   LEFT JOIN memory m USING (namespace, ordinal) WHERE m.ordinal IS NULL`,
  `SELECT 'a change is recorded of run ' || c.run || ', which does not exist' FROM consolidation_change c
   LEFT JOIN consolidation_run r ON r.namespace = c.namespace AND r.no = c.run WHERE r.no IS NULL`,
  `SELECT 'run ' || c.run || ' has a change of memory ' || c.ordinal || ', which does not exist' FROM consolidation_change c
   LEFT JOIN memory m USING (namespace, ordinal) WHERE m.ordinal IS NULL`,
  `SELECT 'namespace ' || namespace || ' has ' || count(*) || ' unfinished runs' FROM consolidation_run
   WHERE state IN ('running', 'undoing') GROUP BY namespace HAVING count(*) > 1`,
  `SELECT 'memory ' || l.semantic || ' cannot have been distilled from memory ' || l.source FROM memory_source l
   LEFT JOIN memory m ON m.namespace = l.namespace AND m.ordinal = l.semantic AND m.tier = 'semantic'
   LEFT JOIN memory s ON s.namespace = l.namespace AND s.ordinal = l.source AND s.tier <> 'semantic'
   WHERE m.ordinal IS NULL OR s.ordinal IS NULL`,
  `SELECT 'memory ' || m.ordinal || ' was distilled from nothing' FROM memory m
   LEFT JOIN memory_source l ON l.namespace = m.namespace AND l.semantic = m.ordinal
   WHERE m.tier = 'semantic' AND l.source IS NULL AND m.revision IS NOT DISTINCT FROM m.distilled_revision`,
];
