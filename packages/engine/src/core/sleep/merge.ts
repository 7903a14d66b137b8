import type { Planned } from '../../ports/storage.ts';
import { BATCH_SIZE, PLAN_LIMIT, type PlannedStep } from './step.ts';

/** Exact duplicates leave recall for the oldest of them, which gains their tags, importance and uses. */
export const merge: PlannedStep<Planned<{ id: string; mergedInto: string }>> = {
  plan: (storage, { namespace, now }) => storage.planMerge(namespace, now, PLAN_LIMIT),
  work: (storage, { ref }) => storage.mergeTwins(ref, BATCH_SIZE),
};
