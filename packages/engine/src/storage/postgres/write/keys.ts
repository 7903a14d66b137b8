import { LIMITS } from '@memoryd/contract/limits';
import type { KeysAsOf, StoredKey } from '../../../ports/key-store.ts';
import { KEY_CHANGES } from '../../sql/api-keys.ts';
import { sql } from '../../sql/sql.ts';
import type { Transaction } from '../connection.ts';

/** See `KeyStore.add`. The transaction has the keys for itself. */
export async function addKey(transaction: Transaction, key: StoredKey): Promise<boolean> {
  const added = await transaction.run(sql`
    INSERT INTO api_key (id, namespace, scope, digest, created_at, revoked_at)
    SELECT ${key.id}, ${key.namespace}, ${key.scope}, ${key.digest}, ${key.createdAt}::bigint, ${key.revokedAt}::bigint
    WHERE (SELECT count(*) FROM api_key) < ${LIMITS.keys}::integer`);
  if (added > 0) await noteChange(transaction);
  return added > 0;
}

/** See `KeyStore.revoke`. */
export async function revokeKey(transaction: Transaction, id: string, at: number): Promise<boolean> {
  const revoked = await transaction.run(
    sql`UPDATE api_key SET revoked_at = coalesce(revoked_at, ${at}) WHERE id = ${id}`,
  );
  if (revoked > 0) await noteChange(transaction);
  return revoked > 0;
}

/** See `KeyStore.importAll`. The transaction has the keys for itself. */
export async function importKeys(transaction: Transaction, { keys, changes }: KeysAsOf): Promise<void> {
  const rows = keys.map((key, place) => ({
    place,
    id: key.id,
    namespace: key.namespace,
    scope: key.scope,
    digest: key.digest,
    created_at: key.createdAt,
    revoked_at: key.revokedAt,
  }));
  const added = await transaction.run(sql`
    INSERT INTO api_key (id, namespace, scope, digest, created_at, revoked_at)
    SELECT id, namespace, scope, digest, created_at, revoked_at
    FROM json_to_recordset(${JSON.stringify(rows)}::json) AS key(
      place integer, id text, namespace text, scope text, digest text, created_at bigint, revoked_at bigint)
    ORDER BY place ON CONFLICT (id) DO NOTHING`);
  if (added > 0) await noteChange(transaction);
  if (changes === 0) return;
  await transaction.run(sql`
    INSERT INTO property (name, value) VALUES (${KEY_CHANGES}, ${String(changes)})
    ON CONFLICT (name) DO UPDATE SET value = greatest(property.value::integer, excluded.value::integer)::text`);
}

/** Deletes the keys of a namespace; that there were some stays known. */
export async function deleteKeys(transaction: Transaction, namespace: string): Promise<void> {
  const deleted = await transaction.run(sql`DELETE FROM api_key WHERE namespace = ${namespace}`);
  if (deleted > 0) await noteChange(transaction);
}

async function noteChange(transaction: Transaction): Promise<void> {
  await transaction.run(sql`
    INSERT INTO property (name, value) VALUES (${KEY_CHANGES}, '1')
    ON CONFLICT (name) DO UPDATE SET value = (property.value::integer + 1)::text`);
}
