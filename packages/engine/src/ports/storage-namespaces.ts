import type { NamespaceQuota, TierCounts } from '@memoryd/contract';
import type { OwnerFilter } from './storage-owner.ts';

/** So many memories, and bytes of their texts in UTF-8; as a quota, 0 is any number. */
export interface Quota {
  memories: number;
  bytes: number;
}

/** How much each namespace, and each user of one, may hold that has no quota of its own. */
export interface Quotas {
  namespace: Quota;
  user: Quota;
}

/** Nothing was kept, because the namespace, or the user, may hold `most` and would hold more. */
export interface OverQuota {
  outcome: 'over-quota';
  holder: 'namespace' | 'user';
  of: keyof Quota;
  most: number;
}

export interface StorageStats extends TierCounts {
  /** Of the whole database on disk. */
  sizeBytes: number;
  /** Of texts in UTF-8, as a quota counts them. */
  textBytes: number;
  lastSleepAt: number | null;
  pendingEmbeddings: number;
  /**
   * The model in use, and how many of the memories in a tier, those hidden by their expiry included, do not wait for its
   * vectors. Null before any model was used.
   */
  embedding: { modelId: string; embedded: number; total: number } | null;
}

/** A namespace as an operator sees it. */
export interface NamespaceUsage {
  name: string;
  counts: TierCounts;
  /**
   * What clients stored and nobody has erased: memories, hidden ones included, and bytes of texts, earlier ones included.
   * Neither semantic memories nor the texts that consolidation gave them are counted.
   */
  used: Quota;
  quota: NamespaceQuota;
  /** API keys that have not been revoked. */
  keys: number;
}

/** Tells what namespaces hold and may hold. */
export interface NamespaceStorage {
  /** Of the memories that belong to some users and agents alone, where `of` says so; its `embedding` is null then. */
  stats(namespace: string, now: number, of?: OwnerFilter): Promise<StorageStats>;
  /** What `stats` answers, over all namespaces; the last run of consolidation is the last of any. */
  totals(now: number): Promise<StorageStats>;
  /** Those with memories in a tier or in the archive. */
  namespaces(): Promise<string[]>;
  /** Every namespace of which anything is kept, by name. */
  usage(now: number): Promise<NamespaceUsage[]>;
  /** Says what a namespace may hold; what it holds already stays. */
  setQuota(namespace: string, quota: NamespaceQuota): Promise<void>;
  /** The users of a namespace that have a quota of their own, by their ids. */
  userQuotas(namespace: string): Promise<(NamespaceQuota & { userId: string })[]>;
  /** Says what one user of a namespace may hold. */
  setUserQuota(namespace: string, userId: string, quota: NamespaceQuota): Promise<void>;
  /**
   * Removes all that is kept of a namespace, its API keys first, and its texts from the bytes of the database too. What is
   * stored meanwhile stays. Answers how many memories went; after a crash, the same call finishes the work.
   */
  deleteNamespace(namespace: string): Promise<{ count: number; purged: boolean }>;
}
