import { LIMITS } from '@memoryd/contract';
import { clearArchive, dropIdempotencyKeys } from './archive.ts';
import { Distilling, type DistilParts } from './distil.ts';
import { evict } from './evict.ts';
import { excess, planExcess } from './excess.ts';
import { merge } from './merge.ts';
import { settle } from './settle.ts';
import type { Due, Step } from './step.ts';

/** What a run does to memories, in this order: a memory that has expired is not merged any more, nor one of twins distilled. */
export function stepsOf(parts: DistilParts, due: Due, signal: AbortSignal): Step[] {
  const distilling = new Distilling(parts, due, signal);
  const distil: Step = { work: (_storage, { ref }) => distilling.work(ref), notes: () => distilling.notes };
  return [settle, evict, merge, distil, excess];
}

/** What a run does before that and its check: it cannot be undone, and is due in a run that is taken back, too. */
export const HOUSEKEEPING: readonly Step[] = [clearArchive, dropIdempotencyKeys];

/** What a run that began now would do to memories; a part of a plan is as of the moment in which it was read. */
export async function planSleep(parts: DistilParts, due: Due, signal: AbortSignal) {
  const { storage } = parts;
  const settled = await settle.plan(storage, due);
  const merged = await merge.plan(storage, due);
  const twins = new Set(merged.items.map(({ id }) => id));
  const distilled = await new Distilling(parts, due, signal).plan(twins);
  const expired = await evict.plan(storage, due);
  const made = distilled.items.filter(({ refreshes }) => refreshes === undefined).length;
  const over = await planExcess(storage, due, { settled: settled.total, merged, made });
  return {
    settle: settled,
    merge: merged,
    distil: distilled,
    evict: {
      total: expired.total + over.total,
      items: [...expired.items, ...over.items].slice(0, LIMITS.plannedMemories),
    },
  };
}
