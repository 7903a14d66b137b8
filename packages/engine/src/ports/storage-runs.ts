import type { Page, PageRequest } from './page.ts';

/**
 * `undoing`: being taken back, which a crash may leave unfinished too. `undone`: taken back after it had ended.
 * `reverted`: taken back by itself before it had.
 */
export type RunState = 'running' | 'completed' | 'undoing' | 'undone' | 'reverted';

/**
 * What a run of consolidation may do to a memory, and what is recorded of it beside the memory's ordinal. A `version` is
 * the one that the memory had: the run cannot be undone once a client has written the memory.
 */
export interface ChangeDetails {
  /** It went from the working to the episodic tier. */
  settled: Record<string, never>;
  /** It left recall for its twin `into`. */
  merged: { into: number };
  /** Merged into `from` before, it followed that memory into `into`. */
  moved: { from: number; into: number };
  /** Before twins were merged into it, it had these; from them it gained so many uses, the last of them `lastUse`. */
  gained: {
    version: number;
    tags: string[];
    importance: number;
    accessedAt: number | null;
    uses: number;
    lastUse: number | null;
  };
  /** It was made of these memories. */
  distilled: { version: number; sources: number[] };
  /** It was distilled anew; before, it had this text of its history and these sources. */
  refreshed: { version: number; revision: number; sources: number[] };
  /** It came to rank below the memory `by`, which corrects it. */
  corrected: { by: number };
  /** It left recall because it had expired, or because its tier held more memories than it may. */
  evicted: { reason: 'expired' | 'maximum' };
}

export type ChangeKind = keyof ChangeDetails;

/** A run that is about to begin. `fence` is the one of the lease `SLEEP_LEASE`. */
export interface NewRun {
  id: string;
  startedAt: number;
  /** Working memories stored until then settle. */
  settledUntil: number;
  fence: number;
}

/** A run as its own writes name it; they reject with UNAVAILABLE once another process has taken the lease. */
export interface RunRef {
  namespace: string;
  no: number;
  id: string;
  fence: number;
}

/**
 * `resumed`: an earlier run had been left unfinished and goes on; it settles what either of the two was to, unless the
 * clock has been set back since.
 * `undoing`: an undo had been left unfinished and has to be finished first.
 */
export type BegunRun =
  | { outcome: 'begun' | 'resumed'; ref: RunRef; settledUntil: number }
  | { outcome: 'undoing'; ref: RunRef };

/** A run as it is kept. `counts` is changes by kind, as they were when it ended. */
export interface SleepRun {
  no: number;
  id: string;
  state: RunState;
  startedAt: number;
  endedAt: number | null;
  counts: Partial<Record<ChangeKind, number>>;
  notes: Record<string, unknown>;
}

/** One change of a run, with the ids of the memories that it names; null where one has been forgotten. */
export interface RunChange {
  seq: number;
  kind: ChangeKind;
  id: string;
  mergedInto?: string | null;
  reason?: ChangeDetails['evicted']['reason'];
  /** What a memory had before it gained from twins. */
  before?: { tags: string[]; importance: number };
  /** What it was distilled from: when it was made, or before it was made anew. */
  derivedFrom?: string[];
  supersededBy?: string | null;
}

/** Why a run cannot be undone: it is not `completed`; a newer run has to be undone first; clients wrote memories since. */
export type UndoOutcome =
  | { outcome: 'begun'; ref: RunRef }
  | { outcome: 'unknown' }
  | { outcome: 'not-completed'; state: RunState }
  | { outcome: 'too-old' }
  | { outcome: 'newer'; id: string }
  | { outcome: 'written'; ids: string[] };

/** What a step of consolidation did; `more` says that the same step has more to do. */
export interface StepResult {
  count: number;
  more: boolean;
}

/** Keeps runs of consolidation, what each did, and takes them back. */
export interface RunStorage {
  /** Begins a run of consolidation, or takes up the namespace's unfinished one. UNAVAILABLE for a fence that has passed. */
  beginRun(namespace: string, begin: NewRun): Promise<BegunRun>;
  /** Notes that a run has done all its work, with whatever notes, and answers what it came to. */
  endRun(run: RunRef, endedAt: number, notes?: Record<string, unknown>): Promise<SleepRun>;
  /** Runs, newest first; a place is a run's `no`. */
  runs(namespace: string, page: PageRequest<number>): Promise<Page<SleepRun, number>>;
  run(namespace: string, id: string): Promise<SleepRun | undefined>;
  /** What a run did, in order, to memories that have not been forgotten since; a place is a change's `seq`. */
  changes(namespace: string, no: number, page: PageRequest<number>): Promise<Page<RunChange, number>>;
  /**
   * Checks that a completed run can be undone and begins that, or goes on where a crash left it: the newest that changed
   * anything, if it ended after `endedAfter` and no client has since written what it would take back.
   */
  beginUndo(namespace: string, id: string, options: { fence: number; endedAfter: number }): Promise<UndoOutcome>;
  /** Begins to undo a run that has not ended, with notes that say why. */
  beginRevert(run: RunRef, notes: Record<string, unknown>): Promise<void>;
  /**
   * Takes back the last changes of a run that is being undone; where no more are left, the run is undone. What was
   * forgotten since stays forgotten, and what clients wrote since stays written.
   */
  undoSome(run: RunRef, at: number, limit: number): Promise<StepResult>;
}
