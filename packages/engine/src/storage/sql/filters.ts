import type { MemoryFilter } from '../../ports/storage-memories.ts';
import type { Settling } from '../../ports/storage-sleep.ts';
import { attributeKey, filteredAttributes } from '../attributes.ts';
import { IN_TIER } from '../conditions.ts';
import { aheadFrom } from '../settling.ts';
import type { Dialect } from './dialect.ts';
import { notExpired } from './memory-columns.ts';
import { join, raw, type Sql, sql } from './sql.ts';

/** Returns a condition on `memory m`: it is live at a time, in a namespace, and passes a filter. */
export function liveAndPassing({ unindexed }: Dialect, namespace: string, filter: MemoryFilter, now: number): Sql {
  const attributes = filteredAttributes(filter);
  // Few memories have an attribute; all of a namespace may be of one tier, source or time.
  const column = attributes.length > 0 ? unindexed(raw('m.namespace')) : raw('m.namespace');
  const conditions = [sql`${column} = ${namespace}`, raw(IN_TIER), notExpired(now)];
  if (filter.tier !== undefined) conditions.push(sql`m.tier = ${filter.tier}`);
  if (filter.sessionId !== undefined) conditions.push(sql`m.session_id = ${filter.sessionId}`);
  if (filter.source !== undefined) conditions.push(sql`m.source = ${filter.source}`);
  if (filter.since !== undefined) conditions.push(sql`m.created_at >= ${filter.since}`);
  if (filter.until !== undefined) conditions.push(sql`m.created_at <= ${filter.until}`);
  for (const [name, value] of attributes) conditions.push(hasAttribute(namespace, name, value));
  return join(conditions, ' AND ');
}

/** Returns a condition on `memory m`: it has an attribute. */
export function hasAttribute(namespace: string, name: string, value: string): Sql {
  return sql`m.ordinal IN (${holders(namespace, name, value)})`;
}

/** Returns a query for the ordinals of the memories that have an attribute. */
export function holders(namespace: string, name: string, value: string): Sql {
  return sql`SELECT a.ordinal FROM attribute a
    WHERE a.namespace = ${namespace} AND a.name = ${attributeKey(name)} AND a.value = ${attributeKey(value)}`;
}

/** Returns a condition on `memory m`: a working memory is old enough to settle. See `Settling`. */
export function oldEnough(settling: Settling): Sql {
  return sql`(m.stored_at <= ${settling.settledUntil} OR m.stored_at >= ${aheadFrom(settling)})`;
}

/** Returns a condition on `memory m`: it has settled, or is old enough to. */
export function hasSettled(settling: Settling): Sql {
  return sql`(m.tier <> 'working' OR ${oldEnough(settling)})`;
}
