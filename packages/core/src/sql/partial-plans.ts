import { getRetention, type Retainable } from '@memoryd/search';
import { compareForEviction } from '../eviction-order.ts';
import type { Preview, RetainedMemory } from '../ports/storage-consolidation.ts';
import type { Position } from '../ports/storage-memories.ts';

/** A duplicate that would be merged, and the memory that it would be merged into. */
export interface PlannedDuplicate {
  id: string;
  mergedInto: string;
}

/** The planned merges of one batch of candidates. `next` is the ordinal to continue after, absent at the end. */
export interface PlannedMerge extends Preview<PlannedDuplicate> {
  next?: number;
}

/** Plans merges over all merge candidates, one batch at a time. See `Storage.planMerge`. */
export async function planMerge(
  planAfter: (after: number, limit: number) => Promise<PlannedMerge>,
  limit: number,
): Promise<Preview<PlannedDuplicate>> {
  const plan: Preview<PlannedDuplicate> = { total: 0, items: [] };
  for (let after: number | undefined = 0; after !== undefined; ) {
    const batch: PlannedMerge = await planAfter(after, limit - plan.items.length);
    plan.total += batch.total;
    plan.items.push(...batch.items);
    after = batch.next;
  }
  return plan;
}

/** Plans the merges of a group: all other members are merged into the first member. */
export function mergedIntoFirst([survivor, ...others]: readonly string[]): PlannedDuplicate[] {
  return survivor === undefined ? [] : others.map((id) => ({ id, mergedInto: survivor }));
}

/** Memories ranked per batch, so that other work can run between batches. */
export const RANKED_AT_ONCE = 10_000;

/** A memory with the fields that determine its retention. */
export type Rankable = Retainable & Position & Pick<RetainedMemory, 'id' | 'evictionRank'>;

/**
 * The least retained memories of one batch. `next` is the position to continue after, absent at the end of the tier.
 */
export interface LeastRetained {
  least: RetainedMemory[];
  next?: Position;
}

/** Ranks one batch of a tier by retention. The rows must be in creation order. */
export function rank(rows: readonly Rankable[], count: number, now: number): LeastRetained {
  const ranked = rows.map((row) => {
    const { ordinal, id, evictionRank } = row;
    return { ordinal, id, evictionRank, retention: getRetention(row, now) };
  });
  const last = rows.at(-1);
  return {
    least: getLeastRetained(ranked, count),
    ...(last && rows.length === RANKED_AT_ONCE && { next: { createdAt: last.createdAt, ordinal: last.ordinal } }),
  };
}

/** Returns the least retained memories of a tier, reading one batch at a time. */
export async function leastRetained(
  readAfter: (after: Position | undefined) => Promise<LeastRetained>,
  count: number,
): Promise<RetainedMemory[]> {
  let least: RetainedMemory[] = [];
  let after: Position | undefined;
  do {
    const batch = await readAfter(after);
    least = getLeastRetained([...least, ...batch.least], count);
    after = batch.next;
  } while (after);
  return least;
}

/** Returns the memories that are evicted first, in this order. */
function getLeastRetained(memories: readonly RetainedMemory[], count: number): RetainedMemory[] {
  return memories.toSorted(compareForEviction).slice(0, count);
}
