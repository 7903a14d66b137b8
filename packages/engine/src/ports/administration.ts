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

/** An API key as it is kept. Times are milliseconds since 1970 in UTC. */
export interface StoredKey {
  /** Public: it may stand in lists and logs. */
  id: string;
  namespace: string;
  scope: Scope;
  /** The SHA-256 of the secret, in hexadecimal digits; the secret itself is kept nowhere. */
  digest: string;
  createdAt: number;
  /** Null while the key is good. */
  revokedAt: number | null;
}

/** Every key as of one moment, in the order in which they were made. */
export interface KeysAsOf {
  keys: StoredKey[];
  /** How often keys were made, revoked or deleted until then; 0 where none was ever made. */
  changes: number;
}

/** The API keys of a database, whichever process makes and revokes them. Writes are on disk when they resolve. */
export interface KeyStore {
  /** Keeps a key; false, and nothing is kept, where there are `LIMITS.keys`. */
  add(key: StoredKey): Promise<boolean>;
  /** Revokes a key for good; one that was revoked before keeps its time. False where there is no such key. */
  revoke(id: string, at: number): Promise<boolean>;
  /** Keeps keys as another store has them, but for ids that it has; it has seen no fewer changes then than that one. */
  importAll(other: KeysAsOf): Promise<void>;
  /** All keys; undefined where nothing has changed since the `changes` that the caller has seen. */
  read(seen?: number): Promise<KeysAsOf | undefined>;
}
