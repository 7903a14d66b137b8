import { DEFAULTS } from '@memoryd/contract/limits';
import { DISTIL_LIMITS, getReplacement, IN_TIER, type Moment, type Queries, raw, type Sql, sql } from '@memoryd/core';
import {
  MAX_SUCCESSORS,
  type Matches,
  NEIGHBOR_DISTANCE,
  NO_ROW,
  NO_SPEAKER,
  type RowRelations,
} from '@memoryd/search';
import { memoriesBy, POSTGRES } from '../dialect.ts';
import type { Scope } from './scope.ts';

/**
 * Maximum memories scanned to find neighbors. More memories are scanned than needed, because memories that are not in
 * recall, and memories without session and speaker, are skipped.
 */
const MAX_SCANNED = 32;

/** Neighbors read on each side: the neighbors within the distance, and one more to link adjacent neighbors. */
const NEIGHBOR_COUNT = NEIGHBOR_DISTANCE + 1;

/** A memory with an index entry, and its relations to other memories. */
interface Node {
  ordinal: number;
  isAllowed: boolean;
  successor: number | null;
  sources: number[];
  /** Neighbors in the session, nearest first. */
  before: number[];
  after: number[];
}

/** Relations between candidates, by ordinal, and the ordinals of all related memories. */
export interface KnownRelations extends Omit<RowRelations, 'relevant'> {
  ordinals: number[];
}

/**
 * Reads the memories related to the candidates: their neighbors, their successors (the memories that supersede them,
 * transitively), and the sources of semantic memories.
 */
export async function readRowRelations(
  queries: Queries,
  { namespace, passing }: Scope,
  moment: Moment,
  { pool, lifting, tail }: Matches,
): Promise<KnownRelations> {
  const found = [...new Set([...pool, ...tail])];
  const withoutSources = found.length + 2 * lifting.length + 2 * MAX_SUCCESSORS;
  const maxNodes = withoutSources * (1 + DISTIL_LIMITS.maxSources);
  const memory = (ordinal: string) => memoriesBy('m', sql`namespace = ${namespace} AND ordinal = ${raw(ordinal)}`);
  const successor = getSuccessor(moment);
  const nodes = await queries.rows<Node>(sql`
    WITH RECURSIVE reached AS (
        SELECT unnest(${found}::bigint[]) AS ordinal
        UNION
        SELECT unnest(${neighbors('before', 1)} || ${neighbors('after', 1)})
        FROM unnest(${lifting}::bigint[]) AS lifting(ordinal) CROSS JOIN ${memory('lifting.ordinal')}
        UNION
        SELECT further.ordinal FROM reached CROSS JOIN LATERAL (
          SELECT ${successor} AS ordinal FROM ${memory('reached.ordinal')}
          UNION ALL
          SELECT source FROM memory_source WHERE namespace = ${namespace} AND semantic = reached.ordinal) AS further
        WHERE further.ordinal IS NOT NULL)
    SELECT m.ordinal, (${passing}) AS "isAllowed", ${successor} AS successor, ${SOURCES} AS sources,
      ${neighbors('before', NEIGHBOR_COUNT)} AS before, ${neighbors('after', NEIGHBOR_COUNT)} AS after
    FROM (SELECT ordinal FROM reached LIMIT ${maxNodes}) AS bounded CROSS JOIN ${memory('bounded.ordinal')}
    WHERE ${raw(IN_TIER)}`);
  return toRelations(nodes);
}

/** SQL: the memory that replaces `memory m` at a moment; null if it is not in recall. */
function getSuccessor(moment: Moment): Sql {
  return sql`(
    SELECT s.ordinal FROM ${memoriesBy('s', sql`namespace = m.namespace AND ordinal = ${getReplacement(POSTGRES, moment)}`)}
    WHERE s.merged_into IS NULL AND s.evicted_at IS NULL)`;
}

/** SQL: the sources of `memory m` that are in recall. */
const SOURCES = sql`CASE WHEN m.tier = 'semantic' THEN ARRAY(
  SELECT s.ordinal FROM memory_source l
  CROSS JOIN ${memoriesBy('s', raw('namespace = l.namespace AND ordinal = l.source'))}
  WHERE l.namespace = m.namespace AND l.semantic = m.ordinal AND s.merged_into IS NULL AND s.evicted_at IS NULL
  ORDER BY s.ordinal) ELSE '{}' END`;

/**
 * SQL: ordinals of the neighbors of `memory m` in the session of its user, nearest first. Without a session, only
 * memories with a speaker are neighbors.
 */
function neighbors(side: 'before' | 'after', count: number): Sql {
  const [than, order] = side === 'before' ? [raw('<'), raw('DESC')] : [raw('>'), raw('ASC')];
  return sql`CASE WHEN ${isNeighborable('m')} THEN ARRAY(
    SELECT near.ordinal FROM (
      SELECT n.created_at, n.ordinal, n.merged_into, n.evicted_at FROM memory n
      WHERE n.namespace = m.namespace AND n.user_id = m.user_id AND n.session_id = m.session_id
        AND (n.created_at, n.ordinal) ${than} (m.created_at, m.ordinal)
      ORDER BY n.created_at ${order}, n.ordinal ${order} LIMIT ${MAX_SCANNED}) AS near
    WHERE near.merged_into IS NULL AND near.evicted_at IS NULL AND ${isNeighborable('near')}
    ORDER BY near.created_at ${order}, near.ordinal ${order} LIMIT ${count}) ELSE '{}' END`;
}

// A scalar subquery, because with EXISTS the planner may scan all index entries.
function isNeighborable(table: 'm' | 'near'): Sql {
  return sql`(m.session_id <> ${DEFAULTS.sessionId} OR (
    SELECT e.speaker FROM recall_entry e WHERE e.namespace = m.namespace AND e.ordinal = ${raw(table)}.ordinal) <> ${NO_SPEAKER})`;
}

function toRelations(nodes: readonly Node[]): KnownRelations {
  const byOrdinal = new Map(nodes.map((node) => [node.ordinal, node]));
  const previous = new Map<number, number>();
  const next = new Map<number, number>();
  const link = (before: number, after: number) => {
    previous.set(after, before);
    next.set(before, after);
  };
  const ordinals = new Set<number>(byOrdinal.keys());
  for (const { ordinal, before, after } of nodes) {
    before.forEach((other, i) => {
      link(other, before[i - 1] ?? ordinal);
    });
    after.forEach((other, i) => {
      link(after[i - 1] ?? ordinal, other);
    });
    for (const other of [...before.slice(0, NEIGHBOR_DISTANCE), ...after.slice(0, NEIGHBOR_DISTANCE)]) {
      ordinals.add(other);
    }
  }
  return {
    ordinals: [...ordinals],
    isAllowed: (ordinal) => byOrdinal.get(ordinal)?.isAllowed ?? false,
    previous: (ordinal) => previous.get(ordinal) ?? NO_ROW,
    next: (ordinal) => next.get(ordinal) ?? NO_ROW,
    successor: (ordinal) => byOrdinal.get(ordinal)?.successor ?? NO_ROW,
    sources: (ordinal) => byOrdinal.get(ordinal)?.sources ?? [],
  };
}
