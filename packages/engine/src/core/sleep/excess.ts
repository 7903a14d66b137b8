import type { RunRef, StepResult, Storage } from '../../ports/storage.ts';

/** Most memories that a tier of a namespace may hold; 0 is any number. */
export interface TierMaxima {
  episodic: number;
  semantic: number;
}

/** Memories that one ranking of a tier names, and of those, how many one transaction evicts. */
const RANKED_AT_ONCE = 5000;
const EVICTED_AT_ONCE = 500;

/**
 * Takes what is retained least out of tiers that hold more than they may. Memories that were distilled from others,
 * corrected or merged with are ranked like all others.
 */
export async function evictExcess(storage: Storage, run: RunRef, maxima: TierMaxima, now: number): Promise<StepResult> {
  const result: StepResult = { count: 0, more: false };
  for (const tier of ['episodic', 'semantic'] as const) {
    const excess = await excessOf(storage, run.namespace, tier, maxima[tier], now);
    if (excess <= 0) continue;
    const least = await storage.leastRetained(run.namespace, tier, Math.min(excess, RANKED_AT_ONCE), now);
    const ordinals = least.map(({ ordinal }) => ordinal);
    for (let from = 0; from < ordinals.length; from += EVICTED_AT_ONCE) {
      result.count += await storage.evictExcess(run, tier, ordinals.slice(from, from + EVICTED_AT_ONCE), now);
    }
    result.more ||= ordinals.length > 0 && ordinals.length < excess;
  }
  return result;
}

async function excessOf(
  storage: Storage,
  namespace: string,
  tier: keyof TierMaxima,
  maximum: number,
  now: number,
): Promise<number> {
  if (maximum === 0) return 0;
  return (await storage.stats(namespace, now))[`${tier}_count`] - maximum;
}
