/** The user and the agent of a memory. An empty string means that the memory is shared by all users, or all agents. */
export interface Owner {
  userId: string;
  agentId: string;
}

/**
 * Limits memories to some users and agents. An empty string in a list includes shared memories. An absent list means no
 * limit.
 */
export interface OwnerFilter {
  userIds?: readonly string[];
  agentIds?: readonly string[];
}

/** A number of memories of one user and agent. */
export interface OwnedCount extends Owner {
  count: number;
}
