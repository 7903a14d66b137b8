/** The changes of `sleep_run r` by kind, as JSON. */
export const COUNTS = `(SELECT json_group_object(kind, count) FROM (
  SELECT kind, count(*) AS count FROM sleep_change WHERE run = r.no GROUP BY kind))`;

/** The columns of a run, to be selected from `sleep_run r`; one that is under way is counted as far as it is. */
export const RUN_COLUMNS = `r.no, r.id, r.state, r.started_at, r.ended_at, r.notes,
  CASE WHEN r.ended_at IS NULL THEN ${COUNTS} ELSE r.counts END AS counts`;
