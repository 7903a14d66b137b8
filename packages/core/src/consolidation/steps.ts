import { LIMITS } from '@memoryd/contract';
import { compareForEviction } from '../eviction-order.ts';
import type { Storage } from '../ports/storage.ts';
import type { ConsolidationRun, Preview, RunRef, StepResult } from '../ports/storage-consolidation.ts';

/** Memories per batch of a step. A batch is one transaction; other writers run between batches. */
export const BATCH_SIZE = 500;

/** Maximum memories per tier of a namespace; 0 is unlimited. */
export interface TierMaxima {
  episodic: number;
  semantic: number;
}

/** The namespace, the times and the limits of a run. Times are milliseconds since 1970. */
export interface Due {
  namespace: string;
  /** Start time of the run, the same for all steps. */
  now: number;
  /** Working memories stored at or before this time are promoted. */
  promotedUntil: number;
  maxima: TierMaxima;
}

/** The data of an active run that steps need. */
interface ActiveRun extends Omit<Due, 'namespace'> {
  ref: RunRef;
  /**
   * The end of the previous run, or `now` if earlier; 0 without a previous run. Steps that cannot be undone use this
   * time, since the clock may have been set forward by mistake.
   */
  certainNow: number;
  /** Time that evicted memories and records of runs stay in the archive. */
  archiveMs: number;
}

/** A step of every run. The run calls a step repeatedly, one batch per call, until `more` is false. */
export type Step = (storage: Storage, run: ActiveRun) => Promise<StepResult>;

/** The first steps of a run. These steps cannot be undone, and their effect stays if the run is reverted. */
export const HOUSEKEEPING: readonly Step[] = [
  (storage, { ref, certainNow, archiveMs }) => storage.clearArchive(ref, certainNow - archiveMs, BATCH_SIZE),
  (storage, { certainNow }) => storage.dropIdempotencyKeys(certainNow - LIMITS.idempotencyKeyMs, BATCH_SIZE),
  (storage, { certainNow }) => storage.dropChanges(certainNow, BATCH_SIZE),
];

/**
 * Maximum memories that one run queues again, about half of the memories that one run examines for distilling, so that
 * new memories do not wait for all old ones.
 */
const MAX_REQUEUED = 1000;

/**
 * Creates a step that queues memories again that earlier versions of the distilling rules passed over. Like the steps
 * of `HOUSEKEEPING`, this step cannot be undone.
 */
export function createRequeueStep(): Step {
  let requeued = 0;
  return async (storage, { ref }) => {
    const { count, more } = await storage.requeuePassedOver(ref, BATCH_SIZE);
    requeued += count;
    return { count: 0, more: more && requeued < MAX_REQUEUED };
  };
}

/** Promotes working memories that are old enough to the episodic tier; ids and texts stay. */
export const promote: Step = (storage, { ref, promotedUntil, now }) =>
  storage.promote(ref, { promotedUntil, now }, BATCH_SIZE);

/** Evicts expired memories to the archive. */
export const evict: Step = (storage, { ref, now }) => storage.evictExpired(ref, now, BATCH_SIZE);

/**
 * Merges duplicates into the oldest one, which gains the tags and uses of the other duplicates, and the maximum
 * importance.
 */
export const merge: Step = (storage, { ref, now }) => storage.mergeDuplicates(ref, now, BATCH_SIZE);

const TIERS = ['episodic', 'semantic'] as const;

/** Maximum memories that one call of `excess` selects per tier. The selected memories are evicted in batches. */
const RANKING_SIZE = 5000;

/**
 * Evicts memories from each tier that exceeds its maximum: first those that no longer hold, then those with the lowest
 * retention, and a correction never before what it corrects. No memory is evicted for its age alone.
 */
export const excess: Step = async (storage, { ref, maxima, now }) => {
  const result: StepResult = { count: 0, more: false };
  const counts = await storage.stats(ref.namespace, now);
  for (const tier of TIERS) {
    const over = getExcess(counts[`${tier}_count`], maxima[tier]);
    if (over === 0) continue;
    const least = await storage.leastRetained(ref.namespace, tier, Math.min(over, RANKING_SIZE), now);
    const ordinals = least.map(({ ordinal }) => ordinal);
    let evicted = 0;
    for (let from = 0; from < ordinals.length; from += BATCH_SIZE) {
      evicted += await storage.evictExcess(ref, tier, ordinals.slice(from, from + BATCH_SIZE), now);
    }
    result.count += evicted;
    result.more ||= evicted > 0 && evicted < over;
  }
  return result;
};

function getExcess(count: number, maximum: number): number {
  return maximum === 0 ? 0 : Math.max(0, count - maximum);
}

/**
 * Returns the memories that `excess` would evict after the planned promotions, merges and distillations. The plan is an
 * estimate from the current tiers.
 */
export async function planExcess(
  storage: Storage,
  { namespace, maxima, now }: Due,
  { promoted, merged, created }: { promoted: number; merged: Preview<{ id: string }>; created: number },
): Promise<Preview<{ id: string; reason: 'maximum' }>> {
  const counts = await storage.stats(namespace, now);
  const promotable = Math.min(promoted, counts.working_count);
  const mergedIds = new Set(merged.items.map(({ id }) => id));
  const plan: Preview<{ id: string; reason: 'maximum' }> = { total: 0, items: [] };
  for (const tier of TIERS) {
    const change = tier === 'episodic' ? promotable - merged.total : created;
    const over = getExcess(counts[`${tier}_count`] + change, maxima[tier]);
    if (over === 0) continue;
    const limit = Math.min(over, LIMITS.plannedMemories);
    const least = await storage.leastRetained(namespace, tier, limit + mergedIds.size, now);
    if (tier === 'episodic' && promoted > 0) {
      least.push(...(await storage.leastRetained(namespace, 'working', limit + mergedIds.size, now)));
    }
    const remaining = least.filter(({ id }) => !mergedIds.has(id));
    remaining.sort(compareForEviction);
    plan.total += over;
    plan.items.push(...remaining.slice(0, limit).map(({ id }) => ({ id, reason: 'maximum' as const })));
  }
  return plan;
}

/**
 * Returns the counts of a run or a plan: `consolidated_count` for promoted and distilled memories, `evicted_count` for
 * evicted and merged memories. The counts are 0 if the run was reverted.
 */
export function toCounts({
  counts,
  state,
}: Pick<ConsolidationRun, 'counts'> & Partial<Pick<ConsolidationRun, 'state'>>) {
  const { promoted = 0, distilled = 0, evicted = 0, merged = 0 } = state === 'reverted' ? {} : counts;
  return { consolidated_count: promoted + distilled, evicted_count: evicted + merged };
}
