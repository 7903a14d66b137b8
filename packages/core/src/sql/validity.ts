import type { Moment } from '../validity.ts';
import { joinKnown } from './known.ts';
import type { Dialect } from './queries.ts';
import { raw, type Sql, sql } from './sql.ts';

/** Returns the time at which a memory begins to hold. */
export function getBegin(memory: string): Sql {
  return raw(`coalesce(${memory}.valid_from, ${memory}.created_at)`);
}

/**
 * Returns a condition on `memory m`: it holds at a moment. A memory holds from `valid_from`, by default its creation
 * time, until `valid_to`, by default forever, except while another memory replaces it; see `getReplacement`. The period
 * includes its begin and not its end.
 */
export function isHolding(dialect: Dialect, moment: Moment): Sql {
  const { at } = moment;
  return sql`${getBegin('m')} <= ${at} AND (m.valid_to IS NULL OR m.valid_to > ${at})
    AND ${isNotReplaced(dialect, moment)}`;
}

/** Returns a condition on `memory m`: no memory replaces it at a moment. */
export function isNotReplaced(dialect: Dialect, moment: Moment): Sql {
  return sql`(NOT ${hasLink(dialect)} OR NOT EXISTS ${getReplacement(dialect, moment)})`;
}

/**
 * Returns a condition on `memory m`: a memory supersedes it, or did so. Most memories have no link, and the recursive
 * query of `getReplacement` takes longer.
 */
function hasLink(dialect: Dialect): Sql {
  return sql`EXISTS (
    SELECT 1 FROM succession l WHERE ${dialect.unindexed(raw('l.namespace'))} = m.namespace AND l.ordinal = m.ordinal)`;
}

/**
 * Returns a subquery: the ordinal of the memory that replaces `memory m` at a moment; no row if none does. A successor
 * replaces a memory once it has begun to hold, and while it has neither expired nor ended. Where it has, its own
 * successors count, so that a correction of a temporary replacement replaces both. Of several successors, the first to
 * begin is returned.
 */
export function getReplacement(dialect: Dialect, moment: Moment): Sql {
  const { at, now } = moment;
  const successor = sql`SELECT s.ordinal, ${getBegin('s')},
    (s.expires_at IS NULL OR s.expires_at > ${now}) AND (s.valid_to IS NULL OR s.valid_to > ${at})`;
  const key = { namespace: raw('l.namespace'), ordinal: raw('l.successor') };
  const joined = joinKnown(dialect, moment, 's', key);
  const linked = isLinked(moment);
  const namespace = dialect.unindexed(raw('l.namespace'));
  return sql`(
    WITH RECURSIVE successor (ordinal, begins_at, counts) AS (
      ${successor} FROM succession l ${joined}
      WHERE ${namespace} = m.namespace AND l.ordinal = m.ordinal AND ${linked} AND ${getBegin('s')} <= ${at}
      UNION
      ${successor} FROM successor c CROSS JOIN succession l ${joined}
      WHERE NOT c.counts AND ${namespace} = m.namespace AND l.ordinal = c.ordinal AND ${linked} AND ${getBegin('s')} <= ${at})
    SELECT c.ordinal FROM successor c WHERE c.counts ORDER BY c.begins_at, c.ordinal LIMIT 1)`;
}

/** Condition on `succession l`: the link exists. */
export const IS_LINKED = 'l.unlinked_at IS NULL';

/** Returns a condition on `succession l`: the link was known at a moment. */
export function isLinked({ known }: Pick<Moment, 'known'>): Sql {
  if (known === undefined) return raw(IS_LINKED);
  return sql`l.linked_at <= ${known} AND (${raw(IS_LINKED)} OR l.unlinked_at > ${known})`;
}

/** A memory's times of validity, and those of its successors. */
export interface ValidityTimes {
  beginsAt: number | null;
  validTo: number | null;
  /** The begin of the first successor that neither expires nor ends; null if there is none. */
  replacedAt: number | null;
  /** Whether a successor expires or ends. */
  isReplacedForATime: boolean | number;
}

/** Returns the columns of `ValidityTimes` of `memory m`. With them, an index can decide most memories by itself. */
export function validityTimes(dialect: Dialect): Sql {
  const successors = sql`succession l
    ${dialect.joinMemory('s', { namespace: raw('l.namespace'), ordinal: raw('l.successor') })}
    WHERE l.namespace = m.namespace AND l.ordinal = m.ordinal AND ${raw(IS_LINKED)}`;
  return sql`m.valid_from AS "beginsAt", m.valid_to AS "validTo",
    (SELECT min(${getBegin('s')}) FROM ${successors} AND s.expires_at IS NULL AND s.valid_to IS NULL) AS "replacedAt",
    EXISTS (SELECT 1 FROM ${successors} AND (s.expires_at IS NOT NULL OR s.valid_to IS NOT NULL))
      AS "isReplacedForATime"`;
}

/** Returns an expression: the id of the memory that replaces `memory m` at a moment, or null. */
export function getSupersededBy(dialect: Dialect, moment: Moment): Sql {
  return sql`CASE WHEN ${hasLink(dialect)} THEN (
    SELECT r.id FROM memory r WHERE r.namespace = m.namespace AND r.ordinal = ${getReplacement(dialect, moment)}) END`;
}
