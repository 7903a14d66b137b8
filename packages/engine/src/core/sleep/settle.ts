import type { Planned } from '../../ports/storage.ts';
import { BATCH_SIZE, PLAN_LIMIT, type PlannedStep } from './step.ts';

/** Working memories that are old enough become episodic, with the ids and texts that they have. */
export const settle: PlannedStep<Planned<{ id: string }>> = {
  plan: (storage, { namespace, settledUntil, now }) => storage.planSettle(namespace, { settledUntil, now }, PLAN_LIMIT),
  work: (storage, { ref, settledUntil, now }) => storage.settle(ref, { settledUntil, now }, BATCH_SIZE),
};
