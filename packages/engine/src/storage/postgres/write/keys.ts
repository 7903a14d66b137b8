import { LIMITS } from '@memoryd/contract/limits';
import type { StoredKey } from '../../../ports/key-store.ts';
import type { Transaction } from '../connection.ts';
import { KEY_CHANGES } from '../read/keys.ts';
import { sql } from '../sql.ts';

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
