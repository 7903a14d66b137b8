import type { Owner, OwnerFilter } from '../ports/storage-owner.ts';

/** Whether a filter is limited to some users or agents. */
export function isLimited({ userIds, agentIds }: OwnerFilter): boolean {
  return userIds !== undefined || agentIds !== undefined;
}

export function belongsTo({ userId, agentId }: Owner, { userIds, agentIds }: OwnerFilter): boolean {
  return (userIds?.includes(userId) ?? true) && (agentIds?.includes(agentId) ?? true);
}

export function haveSameOwner(one: Owner, other: Owner): boolean {
  return one.userId === other.userId && one.agentId === other.agentId;
}

/** Groups items by owner, in the order of the first item of each owner. */
export function groupByOwner<Owned extends Owner>(all: readonly Owned[]): [owner: Owned, owned: Owned[]][] {
  const groups = new Map<string, [Owned, Owned[]]>();
  for (const each of all) {
    const key = `${each.userId}\0${each.agentId}`;
    const group = groups.get(key);
    if (group) group[1].push(each);
    else groups.set(key, [each, [each]]);
  }
  return [...groups.values()];
}
