import type { Storage } from '../../ports/storage.ts';
import { clearArchive, dropIdempotencyKeys } from './archive.ts';
import { evict } from './evict.ts';
import { excess, planExcess } from './excess.ts';
import { merge } from './merge.ts';
import { settle } from './settle.ts';
import { type Due, PLAN_LIMIT, type Step } from './step.ts';

/** What a run does, in this order: a memory that has expired is not merged any more. */
export const STEPS: readonly Step[] = [settle, evict, merge, excess, clearArchive, dropIdempotencyKeys];

/** What a run that began now would do to memories; a part of a plan is as of the moment in which it was read. */
export async function planSleep(storage: Storage, due: Due) {
  const settled = await settle.plan(storage, due);
  const merged = await merge.plan(storage, due);
  const expired = await evict.plan(storage, due);
  const over = await planExcess(storage, due, { settled: settled.total, merged: merged.total });
  return {
    settle: settled,
    merge: merged,
    evict: {
      total: expired.total + over.total,
      items: [...expired.items, ...over.items].slice(0, PLAN_LIMIT),
    },
  };
}
