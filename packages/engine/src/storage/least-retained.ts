import { type Retainable, retentionOf } from '../core/retention.ts';
import type { Position } from '../ports/page.ts';
import type { RetainedMemory } from '../ports/storage-sleep.ts';

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
  const ranked = rows.map((row) => ({ ordinal: row.ordinal, id: row.id, retention: retentionOf(row, now) }));
  const last = rows.at(-1);
  return {
    least: leastOf(ranked, count),
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
    least = leastOf([...least, ...some.least], count);
    after = some.next;
  } while (after);
  return least;
}

/** The least retained, the least first; of two that are retained alike, the older. */
function leastOf(memories: readonly RetainedMemory[], count: number): RetainedMemory[] {
  return memories.toSorted((a, b) => a.retention - b.retention || a.ordinal - b.ordinal).slice(0, count);
}
