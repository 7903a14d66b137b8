import type { KeysAsOf, StoredKey } from '../../../ports/key-store.ts';
import type { Queries } from '../connection.ts';
import { sql } from '../sql.ts';

/** The property that counts what was done to keys. */
export const KEY_CHANGES = 'key_changes';

/** See `KeyStore.read`. */
export async function readKeys(queries: Queries, seen = -1): Promise<KeysAsOf | undefined> {
  const row = await queries.row<{ changes: number; keys: StoredKey[] | null }>(sql`
    WITH done AS (
      SELECT coalesce((SELECT value::integer FROM property WHERE name = ${KEY_CHANGES}), 0) AS changes)
    SELECT changes, CASE WHEN changes <> ${seen} THEN (
      SELECT coalesce(json_agg(json_build_object('id', id, 'namespace', namespace, 'scope', scope, 'digest', digest,
        'createdAt', created_at, 'revokedAt', revoked_at) ORDER BY no), '[]') FROM api_key) END AS keys
    FROM done`);
  return row?.keys ? { keys: row.keys, changes: row.changes } : undefined;
}
