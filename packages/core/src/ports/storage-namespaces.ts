import type { NamespaceQuota, TierCounts, ValidityCounts } from '@memoryd/contract';
import type { OwnerFilter } from '@memoryd/search';

/** A number of memories, and the number of bytes of their texts in UTF-8. In a quota, 0 means unlimited. */
export interface Quota {
  memories: number;
  bytes: number;
}

/** Quotas of the namespaces and users that have no quota of their own. */
export interface Quotas {
  namespace: Quota;
  user: Quota;
}

/**
 * Nothing was stored, because the namespace or user (`holder`) would exceed its quota. `limit` is the quota, in memories
 * or bytes (`of`).
 */
export interface OverQuota {
  outcome: 'over-quota';
  holder: 'namespace' | 'user';
  of: keyof Quota;
  limit: number;
}

export interface StorageStats extends TierCounts, ValidityCounts {
  /** Size of the whole database on disk. */
  sizeBytes: number;
  /** Size of the texts in UTF-8, as counted for quotas. */
  textBytes: number;
  lastSleepAt: number | null;
  pendingEmbeddings: number;
  /**
   * The model in use; null if no model was ever used. `total` is the number of memories in all tiers. `embedded` is the
   * number of memories in all tiers without pending vectors. Both numbers include expired memories.
   */
  embedding: { modelId: string; embedded: number; total: number } | null;
  /** Absent for a database server, for a request that is limited to owners, and without a recall index. */
  cachedStates?: CachedStates;
}

/** The memories of all namespaces whose token states a process has cached, and the bytes of these states. */
export interface CachedStates {
  memories: number;
  bytes: number;
  maxBytes: number;
}

/** Usage of a namespace, for operators. */
export interface NamespaceUsage {
  name: string;
  counts: TierCounts;
  /**
   * Memories and bytes of text that clients stored and that have not been deleted. Includes merged and evicted
   * memories, and earlier texts. Excludes semantic memories and the texts that consolidation wrote.
   */
  used: Quota;
  quota: NamespaceQuota;
  /** Number of API keys that have not been revoked. */
  keys: number;
}

/** Reads usage and manages quotas of namespaces. */
export interface NamespaceStorage {
  /**
   * Returns statistics of a namespace. With `of`, counts include only the memories of these users and agents;
   * `sizeBytes` and `lastSleepAt` do not depend on `of`.
   */
  stats(namespace: string, now: number, of?: OwnerFilter): Promise<StorageStats>;
  /** Returns the statistics of all namespaces together. The last consolidation is the latest of any namespace. */
  totals(now: number): Promise<StorageStats>;
  /** Returns the namespaces with memories in a tier or in the archive. */
  namespaces(): Promise<string[]>;
  /**
   * Returns the usage of the namespaces that have memories, consolidation runs, quotas or API keys, ordered by name.
   */
  usage(now: number): Promise<NamespaceUsage[]>;
  /** Sets the quota of a namespace. Memories that already exceed the quota stay. */
  setQuota(namespace: string, quota: NamespaceQuota): Promise<void>;
  /** Returns the users of a namespace that have a quota of their own, ordered by id. */
  userQuotas(namespace: string): Promise<(NamespaceQuota & { userId: string })[]>;
  /** Sets the quota of one user of a namespace. */
  setUserQuota(namespace: string, userId: string, quota: NamespaceQuota): Promise<void>;
  /**
   * Deletes all data of a namespace, its API keys first, and purges its texts from the bytes of the database. Memories
   * that are stored meanwhile stay. Returns the number of deleted memories. After a crash, the same call finishes the
   * work.
   */
  deleteNamespace(namespace: string): Promise<{ count: number; purged: boolean }>;
}
