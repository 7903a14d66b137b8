import type { SleepRun } from '../../ports/storage.ts';

/** Memories that settled or were made in a run. */
export function consolidatedCount({ counts }: Pick<SleepRun, 'counts'>): number {
  return (counts.settled ?? 0) + (counts.distilled ?? 0);
}

/** Memories that left recall in a run. */
export function evictedCount({ counts }: Pick<SleepRun, 'counts'>): number {
  return (counts.evicted ?? 0) + (counts.merged ?? 0);
}
