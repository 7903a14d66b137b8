import type { Tier } from '@memoryd/contract';
import type { ChangeDetails, RunRef, StepResult } from './storage-runs.ts';

/**
 * Which working memories are old enough to settle: those stored until a time. Those that lie ahead of `now` by as much
 * were stored before the clock was set back, nobody knows when, and are old enough too.
 */
export interface Settling {
  settledUntil: number;
  now: number;
}

/** What a run would do now: how many memories in all, and the first of them. */
export interface Planned<Item> {
  total: number;
  items: Item[];
}

/** How far a memory is retained, from 0 to 1. */
export interface RetainedMemory {
  ordinal: number;
  id: string;
  retention: number;
}

/** The steps of a run but for distilling, and what they would do. */
export interface SleepStorage {
  /** Moves working memories that are old enough to the episodic tier, oldest first. */
  settle(run: RunRef, settling: Settling, limit: number): Promise<StepResult>;
  /** Merges memories of one session whose texts are equal after NFC and trimming; `count` is the twins merged. */
  mergeTwins(run: RunRef, limit: number): Promise<StepResult>;
  /** Takes expired memories out of the tiers; their rows stay. */
  evictExpired(run: RunRef, now: number, limit: number): Promise<StepResult>;
  /**
   * A tier's live memories that are retained least, the least first; of two that are retained alike, the older first.
   * See `retentionOf` in core.
   *
   * @param count at most 10,000
   */
  leastRetained(namespace: string, tier: Tier, count: number, now: number): Promise<RetainedMemory[]>;
  /** Takes memories out of a tier that holds too many, as far as they are in it; their rows stay. Answers how many. */
  evictExcess(run: RunRef, tier: Tier, ordinals: number[], now: number): Promise<number>;
  /**
   * Erases memories that were evicted until a time, as `forget` does, and drops records of runs that ended until then,
   * but of the newest; `count` is both.
   */
  clearArchive(run: RunRef, until: number, limit: number): Promise<StepResult>;
  /** Drops idempotency keys used before a time. */
  dropIdempotencyKeys(usedBefore: number, limit: number): Promise<StepResult>;
  /** What `settle` would settle, oldest first; at most `most` items. */
  planSettle(namespace: string, settling: Settling, most: number): Promise<Planned<{ id: string }>>;
  /** What `mergeTwins` would merge of what does not expire until `now`. */
  planMerge(namespace: string, now: number, most: number): Promise<Planned<{ id: string; mergedInto: string }>>;
  /** What `evictExpired` would evict. */
  planEvict(
    namespace: string,
    now: number,
    most: number,
  ): Promise<Planned<{ id: string; reason: ChangeDetails['evicted']['reason'] }>>;
}
