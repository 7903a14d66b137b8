import { raw, sql } from './sql.ts';

/** The changes of `sleep_run r` by kind, as JSON. */
export const COUNTS = raw(`(SELECT coalesce(json_object_agg(kind, count), '{}')::text FROM (
  SELECT kind, count(*) AS count FROM sleep_change c WHERE c.namespace = r.namespace AND c.run = r.no
  GROUP BY kind) AS by_kind)`);

/** The columns of a run (`RunRow`), of `sleep_run r`; one that is under way is counted as far as it is. */
export const RUN_COLUMNS = sql`r.no, r.id, r.state, r.started_at, r.ended_at, r.notes,
  CASE WHEN r.ended_at IS NULL THEN ${COUNTS} ELSE r.counts END AS counts`;
