import { raw, type Sql, sql } from '@memoryd/engine/storage-kit';
/** Whether what corrects `memory m` has expired; null where nothing does. */
export function isCorrectionExpired(now: number): Sql {
  return sql`(SELECT s.expires_at <= ${now}
    FROM ${memoriesBy('s', raw('namespace = m.namespace AND id = m.superseded_by'))})`;
}

/**
 * The memories that have a key as `name`, to be joined: looked up by that key, whatever else is then asked of them and
 * however little the planner knows of the table, which else takes another index for as good.
 */
export function memoriesBy(name: string, key: Sql): Sql {
  return sql`LATERAL (SELECT * FROM memory WHERE ${key} OFFSET 0) AS ${raw(name)}`;
}
