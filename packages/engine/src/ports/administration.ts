import type {
  ApiKey,
  MadeKey,
  NamespaceQuota,
  NamespaceSummary,
  NewKey,
  Scope,
  StatsResponse,
} from '@memoryd/contract';

/** Who shows a key, and what the key lets them do. */
export interface KeyHolder {
  id: string;
  namespace: string;
  /** The user and the agent that the key is bound to. */
  userId?: string;
  agentId?: string;
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
  add(key: NewKey): Promise<MadeKey>;
  /** Every key, revoked ones included, in the order in which they were made. */
  list(): Promise<ApiKey[]>;
  /** Makes a key good for nothing. NOT_FOUND where there is none with this id. */
  revoke(id: string): Promise<void>;
  /** Whose key a text is; undefined for one that is no key, or one that was revoked or has expired. */
  check(text: string): Promise<KeyHolder | undefined>;
  /**
   * Whether callers on the machine itself need a key: from the first key on, unless `openLoopback` was called since the
   * last. Revoking or deleting the last key does not open what keys have closed.
   */
  areNeeded(): Promise<boolean>;
  /** Lets callers on the machine itself call without a key, as before the first one, until another key is made. */
  openLoopback(): Promise<void>;
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
  /** The quota that was set for one user of a namespace. */
  userQuota(name: string, userId: string): Promise<NamespaceQuota>;
  /** Says in the same way what one user of a namespace may hold. */
  setUserQuota(name: string, userId: string, quota: NamespaceQuota): Promise<void>;
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
  /** The user and the agent that the key is bound to, or ''. */
  userId: string;
  agentId: string;
  scope: Scope;
  name: string;
  /** The SHA-256 of the secret, in hexadecimal digits; the secret itself is kept nowhere. */
  digest: string;
  createdAt: number;
  expiresAt: number | null;
  lastUsedAt: number | null;
  /** Null while the key is good. */
  revokedAt: number | null;
}

/** Every key as of one moment, in the order in which they were made. */
export interface KeySnapshot {
  keys: StoredKey[];
  /** How often keys were made, revoked or deleted, or loopback opened, until then; 0 where no key was ever made. */
  changes: number;
  /** Whether callers on the machine itself need no key. */
  isLoopbackOpen: boolean;
}

/** The API keys of a database, whichever process makes and revokes them. Writes are on disk when they resolve. */
export interface KeyStore {
  /** Keeps a key; false, and nothing is kept, where there are `LIMITS.keys`. */
  add(key: StoredKey): Promise<boolean>;
  /** Revokes a key for good; one that was revoked before keeps its time. False where there is no such key. */
  revoke(id: string, at: number): Promise<boolean>;
  /** See `Keys.openLoopback`. */
  openLoopback(): Promise<void>;
  /** Notes that a key was used, unless a later use is known. No change in the sense of `KeySnapshot`. */
  noteUse(id: string, at: number): Promise<void>;
  /** Keeps keys as another store has them, but for ids that it has; it has seen no fewer changes then than that one. */
  importAll(other: KeySnapshot): Promise<void>;
  /** All keys; undefined where nothing has changed since the `changes` that the caller has seen. */
  read(seen?: number): Promise<KeySnapshot | undefined>;
}
