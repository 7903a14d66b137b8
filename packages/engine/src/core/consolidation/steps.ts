import { LIMITS } from '@memoryd/contract';
import type { Storage } from '../../ports/storage.ts';
import type { ConsolidationRun, Planned, RunRef, StepResult } from '../../ports/storage-consolidation.ts';

/** Memories that one batch of a step changes in one transaction, so that writers get their turn between batches. */
export const BATCH_SIZE = 500;

/** Most memories that a tier of a namespace may hold; 0 is any number. */
export interface TierMaxima {
  episodic: number;
  semantic: number;
}

/** What a run that began now would be about. Times are milliseconds since 1970. */
export interface Due {
  namespace: string;
  /** The present time, the same for all steps. */
  now: number;
  /** Working memories stored until then promote. */
  promotedUntil: number;
  maxima: TierMaxima;
}

/** A run under way, as its steps see it. */
interface RunUnderWay extends Omit<Due, 'namespace'> {
  ref: RunRef;
  /** A time that has passed even if the clock was just set forward by mistake; what cannot be undone goes by it. */
  certainNow: number;
  /** For how long what was evicted, and what a run did, is kept. */
  archiveMs: number;
}

/** Something that every run does, in batches of one transaction each, until a batch says that no more is left. */
export type Step = (storage: Storage, run: RunUnderWay) => Promise<StepResult>;

/** What a run does before anything else: it cannot be undone, and is due in a run that is taken back, too. */
export const HOUSEKEEPING: readonly Step[] = [
  (storage, { ref, certainNow, archiveMs }) => storage.clearArchive(ref, certainNow - archiveMs, BATCH_SIZE),
  (storage, { certainNow }) => storage.dropIdempotencyKeys(certainNow - LIMITS.idempotencyKeyMs, BATCH_SIZE),
];

/** Working memories that are old enough become episodic, with the ids and texts that they have. */
export const promote: Step = (storage, { ref, promotedUntil, now }) =>
  storage.promote(ref, { promotedUntil, now }, BATCH_SIZE);

/** What has expired leaves recall for the archive. */
export const evict: Step = (storage, { ref, now }) => storage.evictExpired(ref, now, BATCH_SIZE);

/** Exact duplicates leave recall for the oldest of them, which gains their tags, importance and uses. */
export const merge: Step = (storage, { ref }) => storage.mergeDuplicates(ref, BATCH_SIZE);

const TIERS = ['episodic', 'semantic'] as const;

/** Memories that one ranking of a tier names; they are evicted in batches. */
const RANKED_AT_ONCE = 5000;

/**
 * Where a tier holds more than it may, what is retained least leaves recall for the archive. Memories that were distilled
 * from, corrected or merged with are ranked like all others. Nothing leaves for its age alone.
 */
export const excess: Step = async (storage, { ref, maxima, now }) => {
  const result: StepResult = { count: 0, more: false };
  const counts = await storage.stats(ref.namespace, now);
  for (const tier of TIERS) {
    const over = overMaximum(counts[`${tier}_count`], maxima[tier]);
    if (over === 0) continue;
    const least = await storage.leastRetained(ref.namespace, tier, Math.min(over, RANKED_AT_ONCE), now);
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

function overMaximum(count: number, maximum: number): number {
  return maximum === 0 ? 0 : Math.max(0, count - maximum);
}

/** Returns what `excess` would evict after so much had promoted, merged and been made, as far as the tiers of now tell. */
export async function planExcess(
  storage: Storage,
  { namespace, maxima, now }: Due,
  { promoted, merged, made }: { promoted: number; merged: Planned<{ id: string }>; made: number },
): Promise<Planned<{ id: string; reason: 'maximum' }>> {
  const counts = await storage.stats(namespace, now);
  const joining = Math.min(promoted, counts.working_count);
  const gone = new Set(merged.items.map(({ id }) => id));
  const plan: Planned<{ id: string; reason: 'maximum' }> = { total: 0, items: [] };
  for (const tier of TIERS) {
    const moving = tier === 'episodic' ? joining - merged.total : made;
    const over = overMaximum(counts[`${tier}_count`] + moving, maxima[tier]);
    if (over === 0) continue;
    const most = Math.min(over, LIMITS.plannedMemories);
    const least = await storage.leastRetained(namespace, tier, most + gone.size, now);
    if (tier === 'episodic' && promoted > 0) {
      least.push(...(await storage.leastRetained(namespace, 'working', most + gone.size, now)));
    }
    const staying = least.filter(({ id }) => !gone.has(id));
    staying.sort((a, b) => a.retention - b.retention || a.ordinal - b.ordinal);
    plan.total += over;
    plan.items.push(...staying.slice(0, most).map(({ id }) => ({ id, reason: 'maximum' as const })));
  }
  return plan;
}

/** Returns how many memories a run, or a planned one, consolidated and evicted; none where it took itself back. */
export function toCounts({
  counts,
  state,
}: Pick<ConsolidationRun, 'counts'> & Partial<Pick<ConsolidationRun, 'state'>>) {
  const { promoted = 0, distilled = 0, evicted = 0, merged = 0 } = state === 'reverted' ? {} : counts;
  return { consolidated_count: promoted + distilled, evicted_count: evicted + merged };
}
