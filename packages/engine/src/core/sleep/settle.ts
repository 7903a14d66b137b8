import { LIMITS } from '@memoryd/contract';
import type { Planned } from '../../ports/storage-sleep.ts';
import { BATCH_SIZE, type PlannedStep } from './step.ts';

/** Working memories that are old enough become episodic, with the ids and texts that they have. */
export const settle: PlannedStep<Planned<{ id: string }>> = {
  plan: (storage, { namespace, settledUntil, now }) =>
    storage.planSettle(namespace, { settledUntil, now }, LIMITS.plannedMemories),
  work: (storage, { ref, settledUntil, now }) => storage.settle(ref, { settledUntil, now }, BATCH_SIZE),
};
