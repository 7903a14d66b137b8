import { LIMITS } from '@memoryd/contract';
import { BATCH_SIZE, type Step } from './step.ts';

/** What was evicted long enough ago is erased, and what runs of that age did is no longer known. */
export const clearArchive: Step = {
  work: (storage, { ref, certainNow, archiveMs }) => storage.clearArchive(ref, certainNow - archiveMs, BATCH_SIZE),
};

/** Idempotency keys protect from storing twice for a day. */
export const dropIdempotencyKeys: Step = {
  work: (storage, { certainNow }) => storage.dropIdempotencyKeys(certainNow - LIMITS.idempotencyKeyMs, BATCH_SIZE),
};
