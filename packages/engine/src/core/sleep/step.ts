import type { Storage } from '../../ports/storage.ts';
import type { RunRef, StepResult } from '../../ports/storage-runs.ts';

/** Memories that one batch of a step changes in one transaction, so that writers get their turn between batches. */
export const BATCH_SIZE = 500;

/** Most memories that a tier of a namespace may hold; 0 is any number. */
export interface TierMaxima {
  episodic: number;
  semantic: number;
}

/** A run under way, as its steps see it. Times are milliseconds since 1970. */
interface RunUnderWay {
  ref: RunRef;
  /** The present time, the same for all steps. */
  now: number;
  /** Working memories stored until then settle. */
  settledUntil: number;
  /**
   * A time that has passed even if the clock has just been set forward by mistake: no later than the end of the last
   * run. What cannot be undone goes by it.
   */
  certainNow: number;
  /** For how long what was evicted, and what a run did, is kept. */
  archiveMs: number;
  maxima: TierMaxima;
}

/** Something that every run does, in batches of one transaction each, until a batch says that no more is left. */
export interface Step {
  work(storage: Storage, run: RunUnderWay): Promise<StepResult>;
  /** What the run's record is to say of it besides its changes, when it is done. */
  notes?(): Record<string, unknown>;
}

/** A step that can tell what it would do, changing nothing. */
export interface PlannedStep<Plan> extends Step {
  plan(storage: Storage, due: Due): Promise<Plan>;
}

/** What a run that began now would be about. */
export interface Due extends Pick<RunUnderWay, 'now' | 'settledUntil' | 'maxima'> {
  namespace: string;
}
