import type { KeysAsOf, StoredKey } from '../../ports/key-store.ts';
import type { Queries } from './queries.ts';
import { sql } from './sql.ts';

/** The property that counts what was done to keys. */
export const KEY_CHANGES = 'key_changes';

/** See `KeyStore.read`. A change between the two queries is read again, since `changes` is from before it. */
export async function readKeys(queries: Queries, seen: number | undefined): Promise<KeysAsOf | undefined> {
  const property = await queries.row<{ value: string }>(sql`SELECT value FROM property WHERE name = ${KEY_CHANGES}`);
  const changes = Number(property?.value ?? 0);
  if (changes === seen) return undefined;
  const keys = await queries.rows<StoredKey>(sql`
    SELECT id, namespace, scope, digest, created_at AS "createdAt", revoked_at AS "revokedAt" FROM api_key ORDER BY no`);
  return { keys, changes };
}
