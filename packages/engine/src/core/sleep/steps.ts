import type { Storage } from '../../ports/storage.ts';
import { clearArchive, dropIdempotencyKeys } from './archive.ts';
import { evict } from './evict.ts';
import { merge } from './merge.ts';
import { settle } from './settle.ts';
import type { Due, Step } from './step.ts';

/** What a run does, in this order: a memory that has expired is not merged any more. */
export const STEPS: readonly Step[] = [settle, evict, merge, clearArchive, dropIdempotencyKeys];

/** What a run that began now would do to memories; a part of a plan is as of the moment in which it was read. */
export async function planSleep(storage: Storage, due: Due) {
  return {
    settle: await settle.plan(storage, due),
    merge: await merge.plan(storage, due),
    evict: await evict.plan(storage, due),
  };
}
