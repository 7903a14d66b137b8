import type { NamespaceQuota, NewKey, Scope, StatsResponse, TierCounts } from '@memoryd/contract';

/** An API key without its secret. Times are ISO 8601. */
export interface ApiKey {
  id: string;
  namespace: string;
  scope: Scope;
  created_at: string;
  /** Null while the key is good. */
  revoked_at: string | null;
}

/** Who shows a key, and what the key lets them do. */
export interface KeyHolder {
  id: string;
  namespace: string;
  scope: Scope;
}

/**
 * The API keys of a database. What another process does to them is seen within a second, a key that it made at once.
 * Every method rejects with UNAVAILABLE when the database cannot be used.
 */
export interface Keys {
  /**
   * Makes a key; `key` is its text, which nothing can tell again. INVALID_REQUEST for a name that no namespace may have,
   * CONFLICT where there are `LIMITS.keys`.
   */
  add(key: NewKey): Promise<ApiKey & { key: string }>;
  /** Every key, revoked ones included, in the order in which they were made. */
  list(): Promise<ApiKey[]>;
  /** Makes a key good for nothing. NOT_FOUND where there is none with this id. */
  revoke(id: string): Promise<void>;
  /** Whose key a text is; undefined for one that is no key, or a revoked one. */
  check(text: string): Promise<KeyHolder | undefined>;
  /** Whether a key was ever made: revoking or deleting the last does not open what keys have closed. */
  exist(): Promise<boolean>;
}

/** A namespace as an operator sees it: live memories by tier, and what counts against quotas. */
export interface NamespaceSummary extends TierCounts {
  name: string;
  /** Memories that clients stored and nobody has erased, hidden ones included. */
  memories: number;
  /** Bytes of the texts that clients gave them, in UTF-8, earlier ones included. */
  bytes: number;
  /** A quota of its own; 0 is any number, null what all may. */
  quota: NamespaceQuota;
  /** API keys that have not been revoked. */
  keys: number;
}

/** The namespaces of a database, for who operates it. */
export interface Namespaces {
  /** Those of which anything is kept, by name. */
  list(): Promise<NamespaceSummary[]>;
  /**
   * Removes all that is kept of a namespace for good: its memories, their history, runs of consolidation, quota and API
   * keys. NOT_FOUND where nothing is kept.
   */
  delete(name: string): Promise<{ deleted_count: number; purge?: 'pending' }>;
  /**
   * Says what a namespace may hold; what it holds already stays. INVALID_REQUEST for what is no number of things, or no name.
   */
  setQuota(name: string, quota: NamespaceQuota): Promise<void>;
  /** What `MemoryApi.stats` answers, over all of them; the last consolidation is the last of any. */
  totals(): Promise<StatsResponse>;
}

/** A database as who operates it sees it, whether or not it is served meanwhile. */
export interface Administration {
  keys: Keys;
  namespaces: Namespaces;
  close(): Promise<void>;
}
