import { LIMITS } from '@memoryd/contract';
import type { Storage } from '../../ports/storage.ts';
import type { RunRef, StepResult } from '../../ports/storage-runs.ts';
import type { Planned } from '../../ports/storage-sleep.ts';
import { BATCH_SIZE, type Due, type Step } from './step.ts';

const TIERS = ['episodic', 'semantic'] as const;
type LimitedTier = (typeof TIERS)[number];

/** Memories that one ranking of a tier names; they are evicted in batches. */
const RANKED_AT_ONCE = 5000;

/**
 * Where a tier holds more than it may, what is retained least leaves recall for the archive. Memories that were distilled
 * from, corrected or merged with are ranked like all others. Nothing leaves for its age alone.
 */
export const excess: Step = {
  async work(storage, { ref, maxima, now }) {
    const result: StepResult = { count: 0, more: false };
    const counts = await storage.stats(ref.namespace, now);
    for (const tier of TIERS) {
      const over = overMaximum(counts[`${tier}_count`], maxima[tier]);
      if (over === 0) continue;
      const evicted = await evictLeast(storage, ref, tier, Math.min(over, RANKED_AT_ONCE), now);
      result.count += evicted;
      result.more ||= evicted > 0 && evicted < over;
    }
    return result;
  },
};

function overMaximum(count: number, maximum: number): number {
  return maximum === 0 ? 0 : Math.max(0, count - maximum);
}

async function evictLeast(
  storage: Storage,
  run: RunRef,
  tier: LimitedTier,
  count: number,
  now: number,
): Promise<number> {
  const least = await storage.leastRetained(run.namespace, tier, count, now);
  const ordinals = least.map(({ ordinal }) => ordinal);
  let evicted = 0;
  for (let from = 0; from < ordinals.length; from += BATCH_SIZE) {
    evicted += await storage.evictExcess(run, tier, ordinals.slice(from, from + BATCH_SIZE), now);
  }
  return evicted;
}

/**
 * What a run would evict after it had settled, merged and made so many; which of them is told as far as the tiers of
 * now tell.
 */
export async function planExcess(
  storage: Storage,
  { namespace, maxima, now }: Due,
  { settled, merged, made }: { settled: number; merged: Planned<{ id: string }>; made: number },
): Promise<Planned<{ id: string; reason: 'maximum' }>> {
  const counts = await storage.stats(namespace, now);
  const joining = Math.min(settled, counts.working_count);
  const gone = new Set(merged.items.map(({ id }) => id));
  const plan: Planned<{ id: string; reason: 'maximum' }> = { total: 0, items: [] };
  for (const tier of TIERS) {
    const moving = tier === 'episodic' ? joining - merged.total : made;
    const over = overMaximum(counts[`${tier}_count`] + moving, maxima[tier]);
    if (over === 0) continue;
    const most = Math.min(over, LIMITS.plannedMemories);
    const least = await storage.leastRetained(namespace, tier, most + gone.size, now);
    if (tier === 'episodic' && settled > 0) {
      least.push(...(await storage.leastRetained(namespace, 'working', most + gone.size, now)));
    }
    const staying = least.filter(({ id }) => !gone.has(id));
    staying.sort((a, b) => a.retention - b.retention || a.ordinal - b.ordinal);
    plan.total += over;
    plan.items.push(...staying.slice(0, most).map(({ id }) => ({ id, reason: 'maximum' as const })));
  }
  return plan;
}
