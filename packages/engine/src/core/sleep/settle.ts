import type { Planned } from '../../ports/storage.ts';
import { BATCH_SIZE, PLAN_LIMIT, type PlannedStep } from './step.ts';

/** Working memories that are old enough become episodic, with the ids and texts that they have. */
export const settle: PlannedStep<Planned<{ id: string }>> = {
  plan: (storage, { namespace, settledUntil }) => storage.planSettle(namespace, settledUntil, PLAN_LIMIT),
  work: (storage, { ref, settledUntil }) => storage.settle(ref, settledUntil, BATCH_SIZE),
};
