/** The user and the agent of a memory; '' where all of them share it. */
export interface Owner {
  userId: string;
  agentId: string;
}

/** Limits memories to those of some users and agents; '' is in it for what all share. Absent, they may be of any. */
export interface OwnerFilter {
  userIds?: readonly string[];
  agentIds?: readonly string[];
}

/** How many memories of one user and agent it was. */
export interface OwnedCount extends Owner {
  count: number;
}
