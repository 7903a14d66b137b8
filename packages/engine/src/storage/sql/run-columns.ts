import type { Dialect } from './dialect.ts';
import { raw, type Sql, sql } from './sql.ts';

/** Returns the changes of `sleep_run r` by kind, as JSON. */
export function changeCounts({ jsonObject }: Dialect): Sql {
  return sql`(SELECT ${jsonObject(raw('kind'), raw('count'))} FROM (
    SELECT kind, count(*) AS count FROM sleep_change c WHERE c.namespace = r.namespace AND c.run = r.no
    GROUP BY kind) AS by_kind)`;
}

/** Returns the columns of `sleep_run r` (`RunRow`). A run that is under way is counted as far as it has come. */
export function runColumns(dialect: Dialect): Sql {
  return sql`r.no, r.id, r.state, r.started_at, r.ended_at, r.notes,
    CASE WHEN r.ended_at IS NULL THEN ${changeCounts(dialect)} ELSE r.counts END AS counts`;
}
