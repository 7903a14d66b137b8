import { LIMITS } from '@memoryd/contract';
import type { Planned } from '../../ports/storage-sleep.ts';
import { BATCH_SIZE, type PlannedStep } from './step.ts';

/** Exact duplicates leave recall for the oldest of them, which gains their tags, importance and uses. */
export const merge: PlannedStep<Planned<{ id: string; mergedInto: string }>> = {
  plan: (storage, { namespace, now }) => storage.planMerge(namespace, now, LIMITS.plannedMemories),
  work: (storage, { ref }) => storage.mergeTwins(ref, BATCH_SIZE),
};
