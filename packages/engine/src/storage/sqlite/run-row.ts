import type { ChangeKind, RunState, SleepRun } from '../../ports/storage.ts';
import { fromJson } from './damage.ts';

/** The changes of `sleep_run r` by kind, as JSON. */
export const COUNTS = `(SELECT json_group_object(kind, count) FROM (
  SELECT kind, count(*) AS count FROM sleep_change WHERE run = r.no GROUP BY kind))`;

/** The columns of a run, to be selected from `sleep_run r`; one that is under way is counted as far as it is. */
export const RUN_COLUMNS = `r.no, r.id, r.state, r.started_at, r.ended_at, r.notes,
  CASE WHEN r.ended_at IS NULL THEN ${COUNTS} ELSE r.counts END AS counts`;

export interface RunRow {
  no: number;
  id: string;
  state: RunState;
  started_at: number;
  ended_at: number | null;
  notes: string;
  counts: string;
}

export function toRun(row: RunRow): SleepRun {
  return {
    no: row.no,
    id: row.id,
    state: row.state,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    counts: fromJson<Partial<Record<ChangeKind, number>>>(row.counts),
    notes: fromJson<Record<string, unknown>>(row.notes),
  };
}
