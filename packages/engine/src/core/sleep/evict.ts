import { LIMITS } from '@memoryd/contract';
import type { ChangeDetails } from '../../ports/storage-runs.ts';
import type { Planned } from '../../ports/storage-sleep.ts';
import { BATCH_SIZE, type PlannedStep } from './step.ts';

/** What has expired leaves recall for the archive. */
export const evict: PlannedStep<Planned<{ id: string; reason: ChangeDetails['evicted']['reason'] }>> = {
  plan: (storage, { namespace, now }) => storage.planEvict(namespace, now, LIMITS.plannedMemories),
  work: (storage, { ref, now }) => storage.evictExpired(ref, now, BATCH_SIZE),
};
