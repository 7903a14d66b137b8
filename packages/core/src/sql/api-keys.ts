import { LIMITS } from '@memoryd/contract/limits';
import type { KeySnapshot, StoredKey } from '../ports/administration.ts';
import { getProperty, setProperty } from './database-marks.ts';
import { count, type Queries } from './queries.ts';
import { raw, sql } from './sql.ts';

/** Name of the database property with the number of changes to API keys. */
const KEY_CHANGES = 'key_changes';

/**
 * Name of the database property that `openLoopback` sets and `addKey` deletes. While the property is set, loopback
 * callers need no key.
 */
const LOOPBACK_OPEN = 'loopback_open';

const COLUMNS =
  raw(`id, namespace, user_id AS "userId", agent_id AS "agentId", scope, name, digest, created_at AS "createdAt", expires_at AS "expiresAt",
  last_used_at AS "lastUsedAt", revoked_at AS "revokedAt"`);

/**
 * See `KeyStore.read`. `changes` is read first, so that a key change between the two queries is detected by the next
 * read.
 */
export async function readKeys(queries: Queries, seen: number | undefined): Promise<KeySnapshot | undefined> {
  const changes = Number((await getProperty(queries, KEY_CHANGES)) ?? 0);
  if (changes === seen) return undefined;
  const isLoopbackOpen = changes === 0 || (await getProperty(queries, LOOPBACK_OPEN)) !== undefined;
  const keys = await queries.rows<StoredKey>(sql`SELECT ${COLUMNS} FROM api_key ORDER BY no`);
  return { keys, changes, isLoopbackOpen };
}

/** See `KeyStore.add`. The transaction must hold the lock of the keys. */
export async function addKey(queries: Queries, key: StoredKey): Promise<boolean> {
  if ((await count(queries, sql`api_key`)) >= LIMITS.keys) return false;
  await queries.run(sql`
    INSERT INTO api_key (id, namespace, user_id, agent_id, scope, name, digest, created_at, expires_at, last_used_at, revoked_at)
    VALUES (${key.id}, ${key.namespace}, ${key.userId}, ${key.agentId}, ${key.scope}, ${key.name}, ${key.digest}, ${key.createdAt}, ${key.expiresAt},
      ${key.lastUsedAt}, ${key.revokedAt})`);
  await setProperty(queries, LOOPBACK_OPEN, undefined);
  await noteChange(queries);
  return true;
}

/** See `KeyStore.openLoopback`. */
export async function openLoopback(queries: Queries): Promise<void> {
  await setProperty(queries, LOOPBACK_OPEN, 'true');
  await noteChange(queries);
}

/** See `KeyStore.recordUse`. */
export async function noteKeyUse(queries: Queries, id: string, at: number): Promise<void> {
  await queries.run(sql`
    UPDATE api_key SET last_used_at = CAST(${at} AS bigint)
    WHERE id = ${id} AND (last_used_at IS NULL OR last_used_at < CAST(${at} AS bigint))`);
}

/** See `KeyStore.revoke`. */
export async function revokeKey(queries: Queries, id: string, at: number): Promise<boolean> {
  const revoked = await queries.run(sql`UPDATE api_key SET revoked_at = coalesce(revoked_at, ${at}) WHERE id = ${id}`);
  if (revoked > 0) await noteChange(queries);
  return revoked > 0;
}

/** See `KeyStore.importAll`. The transaction must hold the lock of the keys. */
export async function importKeys(queries: Queries, { keys, changes, isLoopbackOpen }: KeySnapshot): Promise<void> {
  const records = queries.dialect.records(
    'key',
    {
      place: 'integer',
      id: 'text',
      namespace: 'text',
      userId: 'text',
      agentId: 'text',
      scope: 'text',
      name: 'text',
      digest: 'text',
      createdAt: 'bigint',
      expiresAt: 'bigint',
      lastUsedAt: 'bigint',
      revokedAt: 'bigint',
    },
    keys.map((key, place) => ({ ...key, place })),
  );
  const added = await queries.run(sql`
    INSERT INTO api_key (id, namespace, user_id, agent_id, scope, name, digest, created_at, expires_at, last_used_at, revoked_at)
    SELECT id, namespace, "userId", "agentId", scope, name, digest, "createdAt", "expiresAt", "lastUsedAt", "revokedAt"
    FROM ${records} WHERE true ORDER BY place
    ON CONFLICT (id) DO NOTHING`);
  if (added > 0) await noteChange(queries);
  if (changes === 0) return;
  if (isLoopbackOpen) await setProperty(queries, LOOPBACK_OPEN, 'true');
  await queries.run(sql`
    INSERT INTO property (name, value) VALUES (${KEY_CHANGES}, ${String(changes)})
    ON CONFLICT (name) DO UPDATE SET value = excluded.value
      WHERE CAST(property.value AS integer) < CAST(excluded.value AS integer)`);
}

/** Deletes the keys of a namespace. The change counter is not reset, so that loopback callers still need a key. */
export async function deleteKeys(queries: Queries, namespace: string): Promise<void> {
  const deleted = await queries.run(sql`DELETE FROM api_key WHERE namespace = ${namespace}`);
  if (deleted > 0) await noteChange(queries);
}

async function noteChange(queries: Queries): Promise<void> {
  await queries.run(sql`
    INSERT INTO property (name, value) VALUES (${KEY_CHANGES}, '1')
    ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(property.value AS integer) + 1 AS text)`);
}
