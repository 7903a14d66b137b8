import type {
  ApiKey,
  ApiKeyWithSecret,
  HookSettings,
  HookSettingsChange,
  NamespaceQuota,
  NamespaceSummary,
  NewKey,
  Scope,
  StatsResponse,
} from '@memoryd/contract';

/** The holder of a key, and the permissions of the key. */
export interface KeyHolder {
  id: string;
  namespace: string;
  /** The user and the agent that the key is bound to, if any. */
  userId?: string;
  agentId?: string;
  scope: Scope;
}

/**
 * Manages the API keys of a database. Changes by another process are visible within a second; a key created by another
 * process is accepted at once. A method rejects with UNAVAILABLE if it needs the database and the database cannot be
 * used.
 */
export interface Keys {
  /**
   * Creates a key. The result's `key` is the text of the key, which cannot be retrieved later. Rejects with
   * INVALID_REQUEST for an invalid field, such as the name of the namespace, and with CONFLICT if there are
   * `LIMITS.keys` keys.
   */
  add(key: NewKey): Promise<ApiKeyWithSecret>;
  /** Returns all keys, including revoked ones, in order of creation. */
  list(): Promise<ApiKey[]>;
  /** Revokes a key. Rejects with NOT_FOUND for an unknown id. */
  revoke(id: string): Promise<void>;
  /** Returns the holder of a key; undefined if the key is malformed, unknown, revoked or expired. */
  check(text: string): Promise<KeyHolder | undefined>;
  /**
   * Returns true if callers on the same machine need a key: from the first key on, unless `openLoopback` was called
   * after the newest key was created. Revoking or deleting all keys does not change the result.
   */
  areRequired(): Promise<boolean>;
  /** Allows callers on the same machine to work without a key until another key is created. */
  openLoopback(): Promise<void>;
}

/** Manages the namespaces of a database, for operators. */
export interface Namespaces {
  /** Returns the namespaces that have memories, consolidation runs, quotas or API keys, ordered by name. */
  list(): Promise<NamespaceSummary[]>;
  /**
   * Deletes all data of a namespace for good: memories, history, consolidation runs, quotas and API keys. `purge` is
   * set while bytes of deleted texts may remain in the database. Rejects with NOT_FOUND if `list` does not return the
   * namespace.
   */
  delete(name: string): Promise<{ deleted_count: number; purge?: 'pending' }>;
  /**
   * Sets the quota of a namespace. Memories that already exceed the quota stay. Rejects with INVALID_REQUEST for an
   * invalid quota, and for an invalid name unless the namespace exists.
   */
  setQuota(name: string, quota: NamespaceQuota): Promise<void>;
  /** Returns the quota that was set for one user of a namespace. A limit that was not set is null. */
  userQuota(name: string, userId: string): Promise<NamespaceQuota>;
  /** Sets the quota of one user of a namespace. Memories that already exceed the quota stay. */
  setUserQuota(name: string, userId: string, quota: NamespaceQuota): Promise<void>;
  /**
   * Returns the statistics of all namespaces together, as `MemoryApi.stats` does for one. The last consolidation is the
   * latest of any namespace.
   */
  totals(): Promise<StatsResponse>;
}

/**
 * The settings of users for the hooks of agent programs. `userId` undefined: hooks that name no user. The settings of one
 * user never apply to another. The caller checks that it may act for the user.
 */
export interface Hooks {
  /** Returns the settings of a user. Not paused and without ignored folders by default. */
  getSettings(namespace: string, userId: string | undefined): Promise<HookSettings>;
  /**
   * Returns the settings of a user as they were at most two seconds ago, for a request that must not wait for the
   * database each time. A change through this object is visible at once. Rejects with UNAVAILABLE if the database
   * cannot be used.
   */
  getRecentSettings(namespace: string, userId: string | undefined): Promise<HookSettings>;
  /**
   * Changes the settings that are present, and returns all settings of the user. Removes repeated folders. Rejects with
   * INVALID_REQUEST for an invalid user or change, and with CONFLICT if `LIMITS.hookUsers` other users of the namespace
   * have settings.
   */
  putSettings(namespace: string, userId: string | undefined, change: HookSettingsChange): Promise<HookSettings>;
}

/** Administration of a database, which a server may use at the same time. */
export interface Administration {
  keys: Keys;
  namespaces: Namespaces;
  close(): Promise<void>;
}

/** A stored API key. Times are milliseconds since 1970 in UTC. */
export interface StoredKey {
  /** Public: may appear in lists and logs. */
  id: string;
  namespace: string;
  /** The user and the agent that the key is bound to; empty if the key is not bound. */
  userId: string;
  agentId: string;
  scope: Scope;
  name: string;
  /** SHA-256 of the secret, in hexadecimal digits. The secret itself is not stored. */
  digest: string;
  createdAt: number;
  expiresAt: number | null;
  lastUsedAt: number | null;
  /** Null if the key is not revoked. */
  revokedAt: number | null;
}

/** All keys, in order of creation, and whether callers need a key. */
export interface KeySnapshot {
  keys: StoredKey[];
  /**
   * Version of the keys: increases when keys are created, imported, revoked or deleted, and with each call of
   * `openLoopback`. 0 before the first change.
   */
  changes: number;
  /** True if callers on the same machine need no key. */
  isLoopbackOpen: boolean;
}

/** Stores the API keys of a database, for all processes that share it. Writes are on disk when they resolve. */
export interface KeyStore {
  /** Stores a key. Returns false and stores nothing if there are `LIMITS.keys` keys. */
  add(key: StoredKey): Promise<boolean>;
  /** Revokes a key. A key that is already revoked keeps its time of revocation. Returns false for an unknown id. */
  revoke(id: string, at: number): Promise<boolean>;
  /** See `Keys.openLoopback`. */
  openLoopback(): Promise<void>;
  /** Records the use of a key, unless a later use is recorded. Does not increase `KeySnapshot.changes`. */
  recordUse(id: string, at: number): Promise<void>;
  /**
   * Imports the keys of another store, except for ids that exist here. Afterwards `changes` is at least that of the
   * other store.
   */
  importAll(other: KeySnapshot): Promise<void>;
  /** Returns all keys, or undefined if `KeySnapshot.changes` is still `seen`. */
  read(seen?: number): Promise<KeySnapshot | undefined>;
}
