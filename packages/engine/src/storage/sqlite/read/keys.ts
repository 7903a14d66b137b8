import type { KeysAsOf, StoredKey } from '../../../ports/key-store.ts';
import { type Connection, sql } from '../connection.ts';

/** The property that counts what was done to keys. */
export const KEY_CHANGES = 'key_changes';

/** See `KeyStore.read`. */
export function readKeys(connection: Connection, seen: number | undefined): KeysAsOf | undefined {
  const changes = Number(sql(connection, 'SELECT value FROM property WHERE name = ?').pluck().get(KEY_CHANGES) ?? 0);
  if (changes === seen) return undefined;
  const keys = sql(
    connection,
    `SELECT id, namespace, scope, digest, created_at AS createdAt, revoked_at AS revokedAt FROM api_key ORDER BY no`,
  ).all() as StoredKey[];
  return { keys, changes };
}
