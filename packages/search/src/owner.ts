/** The user and the agent of a memory. An empty string means that the memory is shared by all users, or all agents. */
export interface Owner {
  userId: string;
  agentId: string;
}

/**
 * Matches memories whose user is in `userIds` and whose agent is in `agentIds`. An empty string in a list matches
 * shared memories. An absent list matches all memories.
 */
export interface OwnerFilter {
  userIds?: readonly string[];
  agentIds?: readonly string[];
}

/** A number of memories of one user and agent. */
export interface OwnedCount extends Owner {
  count: number;
}

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
