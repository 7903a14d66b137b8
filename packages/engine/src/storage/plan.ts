import type { Planned } from '../ports/storage-sleep.ts';

/** A twin that would be merged, and what into. */
export interface PlannedTwin {
  id: string;
  mergedInto: string;
}

/** What one reading of the memories that wait tells; `next` is after which to go on, absent behind the last. */
export interface PlannedMerge extends Planned<PlannedTwin> {
  next?: number;
}

/** Goes through the memories that wait to be merged, a reading at a time. See `Storage.planMerge`. */
export async function planMerge(
  planAfter: (after: number, most: number) => Promise<PlannedMerge>,
  most: number,
): Promise<Planned<PlannedTwin>> {
  const plan: Planned<PlannedTwin> = { total: 0, items: [] };
  for (let after: number | undefined = 0; after !== undefined; ) {
    const some: PlannedMerge = await planAfter(after, most - plan.items.length);
    plan.total += some.total;
    plan.items.push(...some.items);
    after = some.next;
  }
  return plan;
}

/** The twins of a group that would be merged into its first. */
export function mergedIntoFirst([survivor, ...others]: readonly string[]): PlannedTwin[] {
  return survivor === undefined ? [] : others.map((id) => ({ id, mergedInto: survivor }));
}
