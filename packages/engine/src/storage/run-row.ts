import type { ChangeKind, RunState, SleepRun } from '../ports/storage.ts';
import { fromJson } from './damage.ts';

/** The columns of a run, as both adapters select them; notes and counts are JSON. */
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
