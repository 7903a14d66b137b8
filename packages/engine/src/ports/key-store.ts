import type { Scope } from '@memoryd/contract';

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
