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
