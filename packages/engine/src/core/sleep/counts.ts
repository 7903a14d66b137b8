import type { SleepRun } from '../../ports/storage-runs.ts';

/** A run, or what a planned one would come to. */
type Counted = Pick<SleepRun, 'counts'> & Partial<Pick<SleepRun, 'state'>>;

/** Memories that settled or were made in a run; none in one that took itself back. */
export function consolidatedCount({ counts, state }: Counted): number {
  if (state === 'reverted') return 0;
  return (counts.settled ?? 0) + (counts.distilled ?? 0);
}

/** Memories that left recall in a run. */
export function evictedCount({ counts, state }: Counted): number {
  if (state === 'reverted') return 0;
  return (counts.evicted ?? 0) + (counts.merged ?? 0);
}
