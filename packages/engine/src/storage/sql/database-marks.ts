import { MemoryError } from '@memoryd/contract/errors';
import { DamagedDatabase, fromJson } from '../damage.ts';
import type { Queries } from './queries.ts';
import { raw, sql } from './sql.ts';

/** Finds a `ModelInUse`. */
export const MODEL_IN_USE = 'SELECT no AS number, model_id AS "modelId", dimensions FROM embedding_model WHERE in_use';

/** The model in use, once there has been one. */
export function modelInUse(queries: Queries): Promise<ModelInUse | undefined> {
  return queries.row<ModelInUse>(raw(MODEL_IN_USE));
}

/**
 * The property that tells up to which entry a change of the model in use has come; there while it is not done. What
 * follows may lack the model's vectors and not wait for them yet.
 */
export const CHANGED_UNTIL = 'model_changed_until';

/** A place in the order of entries. */
export interface ChangedUntil {
  namespace: string;
  ordinal: number;
}

/** How far a change of the model has come; undefined where none is under way. */
export async function changedUntil(queries: Queries): Promise<ChangedUntil | undefined> {
  const kept = await getProperty(queries, CHANGED_UNTIL);
  return kept === undefined ? undefined : fromJson<ChangedUntil>(kept);
}

/** The model whose vectors every memory is to have; its dimensions are not known before it has made one. */
export interface ModelInUse {
  number: number;
  modelId: string;
  dimensions: number | null;
}

/** Returns what is noted of a database under a name; undefined where nothing is. */
export async function getProperty(queries: Pick<Queries, 'row'>, name: string): Promise<string | undefined> {
  return (await queries.row<{ value: string }>(sql`SELECT value FROM property WHERE name = ${name}`))?.value;
}

/** Notes something in place of what was noted under a name. */
export async function setProperty(queries: Queries, name: string, value: string): Promise<void> {
  await queries.run(sql`
    INSERT INTO property (name, value) VALUES (${name}, ${value})
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`);
}

export async function deleteProperty(queries: Queries, name: string): Promise<void> {
  await queries.run(sql`DELETE FROM property WHERE name = ${name}`);
}

/**
 * Takes or renews a lease. See `Lease.acquire`. One that ends further ahead than any holder asks for was left by a
 * clock that has since been set back, and is taken over.
 */
export async function acquireLease(
  queries: Queries,
  name: string,
  holder: string,
  now: number,
  ttlMs: number,
): Promise<number | null> {
  const endsAt = now + ttlMs;
  const taken = await queries.row<{ fence: number }>(sql`
    INSERT INTO lease (name, holder, ends_at, fence) VALUES (${name}, ${holder}, ${endsAt}, 1)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, ends_at = excluded.ends_at,
        fence = lease.fence + CASE WHEN lease.holder <> excluded.holder THEN 1 ELSE 0 END
      WHERE lease.holder = excluded.holder OR lease.ends_at <= ${now} OR lease.ends_at > ${endsAt + ttlMs}
    RETURNING fence`);
  return taken?.fence ?? null;
}

/** Gives a lease up. The row stays, since fences must not begin again. */
export async function releaseLease(queries: Queries, name: string, holder: string): Promise<void> {
  await queries.run(sql`UPDATE lease SET holder = '', ends_at = 0 WHERE name = ${name} AND holder = ${holder}`);
}

/** Throws UNAVAILABLE where another holder has taken the lease since this fence was given out. No other can take it until the transaction ends. */
export async function assertFence(queries: Queries, name: string, fence: number): Promise<void> {
  const present = await queries.row<{ fence: number }>(
    sql`SELECT fence FROM lease WHERE name = ${name} ${queries.dialect.forShare}`,
  );
  if (present?.fence !== fence) throw new MemoryError('UNAVAILABLE', 'another process has taken over');
}

/** See `Storage.secret`. */
export async function secret(queries: Queries): Promise<string> {
  const value = await getProperty(queries, 'secret');
  if (typeof value !== 'string') throw new DamagedDatabase('the secret that seals cursors is missing');
  return value;
}

const MIGRATING_FROM = 'migrating_from';

/** See `Storage.beginMigration`. No memory is stored until the transaction ends. */
export async function beginMigration(queries: Queries, from: string): Promise<boolean> {
  if ((await getProperty(queries, MIGRATING_FROM)) === from) return true;
  if (await keepsAnything(queries)) return false;
  await setProperty(queries, MIGRATING_FROM, from);
  return true;
}

/** See `Storage.isMigrating`. */
export async function isMigrating(queries: Queries): Promise<boolean> {
  return (await getProperty(queries, MIGRATING_FROM)) !== undefined;
}

/** See `Storage.endMigration`. */
export function endMigration(queries: Queries): Promise<void> {
  return deleteProperty(queries, MIGRATING_FROM);
}

const TABLES = ['memory', 'consolidation_run', 'declined_group', 'quota', 'api_key'];

async function keepsAnything(queries: Queries): Promise<boolean> {
  const any = TABLES.map((table) => `EXISTS (SELECT 1 FROM ${table})`).join(' OR ');
  const found = await queries.row<{ any: boolean | number }>(sql`SELECT ${raw(any)} AS any`);
  return Boolean(found?.any);
}

/** Writes a time and so many characters, to show that the database can be written. See `Storage.probe`. */
export function probe(transaction: Queries, now: number, chars: number): Promise<void> {
  return setProperty(transaction, 'probed_at', `${now}${' '.repeat(chars)}`);
}

const BACKED_UP_AT = 'backed_up_at';

/** See `Storage.noteBackup`. */
export function noteBackup(transaction: Queries, at: number): Promise<void> {
  return setProperty(transaction, BACKED_UP_AT, String(at));
}

/** Returns when the last backup was noted; null where none was. */
export async function lastBackup(queries: Queries): Promise<number | null> {
  const at = await getProperty(queries, BACKED_UP_AT);
  return at === undefined ? null : Number(at);
}
