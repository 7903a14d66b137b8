import { LIMITS } from '@memoryd/contract/limits';
import type { KeysAsOf, StoredKey } from '../../../ports/key-store.ts';
import { KEY_CHANGES } from '../../sql/api-keys.ts';
import { type Connection, sql } from '../connection.ts';

/** See `KeyStore.add`. */
export function addKey(connection: Connection, key: StoredKey): boolean {
  const count = sql(connection, 'SELECT count(*) FROM api_key').pluck().get() as number;
  if (count >= LIMITS.keys) return false;
  sql(
    connection,
    `INSERT INTO api_key (id, namespace, scope, digest, created_at, revoked_at)
     VALUES (@id, @namespace, @scope, @digest, @createdAt, @revokedAt)`,
  ).run(key);
  noteChange(connection);
  return true;
}

/** See `KeyStore.revoke`. */
export function revokeKey(connection: Connection, id: string, at: number): boolean {
  const { changes } = sql(connection, 'UPDATE api_key SET revoked_at = coalesce(revoked_at, @at) WHERE id = @id').run({
    id,
    at,
  });
  if (changes > 0) noteChange(connection);
  return changes > 0;
}

/** See `KeyStore.importAll`. */
export function importKeys(connection: Connection, { keys, changes }: KeysAsOf): void {
  const insert = sql(
    connection,
    `INSERT OR IGNORE INTO api_key (id, namespace, scope, digest, created_at, revoked_at)
     VALUES (@id, @namespace, @scope, @digest, @createdAt, @revokedAt)`,
  );
  const added = keys.reduce((count, key) => count + insert.run(key).changes, 0);
  if (added > 0) noteChange(connection);
  sql(
    connection,
    `INSERT INTO property SELECT @name, @changes WHERE @changes > 0
     ON CONFLICT DO UPDATE SET value = max(CAST(value AS INTEGER), @changes)`,
  ).run({ name: KEY_CHANGES, changes });
}

/** Deletes the keys of a namespace; that there were some stays known. */
export function deleteKeys(connection: Connection, namespace: string): void {
  const { changes } = sql(connection, 'DELETE FROM api_key WHERE namespace = ?').run(namespace);
  if (changes > 0) noteChange(connection);
}

function noteChange(connection: Connection): void {
  sql(
    connection,
    'INSERT INTO property VALUES (?, 1) ON CONFLICT DO UPDATE SET value = CAST(value AS INTEGER) + 1',
  ).run(KEY_CHANGES);
}
