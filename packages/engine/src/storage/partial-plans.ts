import { getRetention, type Retainable } from '../core/retention.ts';
import type { Planned, RetainedMemory } from '../ports/storage-consolidation.ts';
import type { Position } from '../ports/storage-memories.ts';

/** A duplicate that would be merged, and what into. */
export interface PlannedDuplicate {
  id: string;
  mergedInto: string;
}

/** What one reading of the memories that wait tells; `next` is after which to go on, absent behind the last. */
export interface PlannedMerge extends Planned<PlannedDuplicate> {
  next?: number;
}

/** Goes through the memories that wait to be merged, a reading at a time. See `Storage.planMerge`. */
export async function planMerge(
  planAfter: (after: number, most: number) => Promise<PlannedMerge>,
  most: number,
): Promise<Planned<PlannedDuplicate>> {
  const plan: Planned<PlannedDuplicate> = { total: 0, items: [] };
  for (let after: number | undefined = 0; after !== undefined; ) {
    const some: PlannedMerge = await planAfter(after, most - plan.items.length);
    plan.total += some.total;
    plan.items.push(...some.items);
    after = some.next;
  }
  return plan;
}

/** The duplicates of a group that would be merged into its first. */
export function mergedIntoFirst([survivor, ...others]: readonly string[]): PlannedDuplicate[] {
  return survivor === undefined ? [] : others.map((id) => ({ id, mergedInto: survivor }));
}

/** Memories that one reading goes through, so that other work gets its turn between two. */
export const RANKED_AT_ONCE = 10_000;

/** A memory of a tier, with what its retention rests on. */
export type Rankable = Retainable & Position & { id: string };

/** The least retained of a reading; `next` is after which of them to go on, absent at the end of the tier. */
export interface LeastRetained {
  least: RetainedMemory[];
  next?: Position;
}

/** Ranks a reading of a tier, in the order of creation. */
export function rank(rows: readonly Rankable[], count: number, now: number): LeastRetained {
  const ranked = rows.map((row) => ({ ordinal: row.ordinal, id: row.id, retention: getRetention(row, now) }));
  const last = rows.at(-1);
  return {
    least: getLeastRetained(ranked, count),
    ...(last && rows.length === RANKED_AT_ONCE && { next: { createdAt: last.createdAt, ordinal: last.ordinal } }),
  };
}

/** Goes through a tier, a reading at a time. */
export async function leastRetained(
  readAfter: (after: Position | undefined) => Promise<LeastRetained>,
  count: number,
): Promise<RetainedMemory[]> {
  let least: RetainedMemory[] = [];
  let after: Position | undefined;
  do {
    const some = await readAfter(after);
    least = getLeastRetained([...least, ...some.least], count);
    after = some.next;
  } while (after);
  return least;
}

/** The least retained, the least first; of two that are retained alike, the older. */
function getLeastRetained(memories: readonly RetainedMemory[], count: number): RetainedMemory[] {
  return memories.toSorted((a, b) => a.retention - b.retention || a.ordinal - b.ordinal).slice(0, count);
}
