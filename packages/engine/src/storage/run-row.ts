import type { Page, PageRequest } from '../ports/page.ts';
import type { ChangeKind, RunState, SleepRun, UndoOutcome } from '../ports/storage-runs.ts';
import { fromJson } from './damage.ts';
import { takePage } from './page.ts';

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

/** Most bytes of the JSON of a run or a change, but for notes and details. */
export const FIXED_FIELDS_BYTES = 512;

/** A page of runs. */
export function takeRuns(rows: Iterable<RunRow>, request: PageRequest<number>, total: number): Page<SleepRun, number> {
  return takePage(rows, request, total, {
    toItem: toRun,
    bytesOf: (row) => FIXED_FIELDS_BYTES + row.notes.length,
    placeOf: (run) => run.no,
  });
}

/** What is looked at of a run before it is taken back. */
export interface UndoableRun {
  no: number;
  state: RunState;
  endedAt: number | null;
}

/** Why a run that is not being taken back cannot be, whatever came after it. */
export function refusedUndo({ state, endedAt }: UndoableRun, endedAfter: number): UndoOutcome | undefined {
  if (state !== 'completed') return { outcome: 'not-completed', state };
  return (endedAt ?? 0) <= endedAfter ? { outcome: 'too-old' } : undefined;
}

/** Most memories that a refused undo names. */
export const NAMED_LIMIT = 100;
