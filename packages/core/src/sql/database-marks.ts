import { MemoryError } from '@memoryd/contract/errors';
import type { CosineScales } from '@memoryd/search';
import { CorruptDatabaseError, fromJson } from './corruption.ts';
import type { Queries, Transaction } from './queries.ts';
import { raw, sql } from './sql.ts';

/** Query for the embedding model in use. */
export const MODEL_IN_USE = `SELECT no AS number, model_id AS "modelId", dimensions, cosine_scales AS "cosineScales"
  FROM embedding_model WHERE in_use`;

/** Returns the model in use, or undefined if no model was ever used. */
export function modelInUse(queries: Queries): Promise<ModelInUse | undefined> {
  return queries.row<ModelInUse>(raw(MODEL_IN_USE));
}

/**
 * Name of the property with the progress of a model change: the position of the last processed index entry. The
 * property exists only during the change. Later index entries may have neither a vector of the new model nor a pending
 * embedding.
 */
export const CHANGED_UNTIL = 'model_changed_until';

/** A position in the order of index entries: (namespace, ordinal). */
export interface ChangedUntil {
  namespace: string;
  ordinal: number;
}

/** Returns the progress of a model change, or undefined if no model change is in progress. */
export async function changedUntil(queries: Queries): Promise<ChangedUntil | undefined> {
  const value = await getProperty(queries, CHANGED_UNTIL);
  return value === undefined ? undefined : fromJson<ChangedUntil>(value, 'the property', CHANGED_UNTIL);
}

/** Records the progress of a model change, or its end if `until` is undefined. */
export async function setChangedUntil(queries: Queries, until: ChangedUntil | undefined): Promise<void> {
  const value = until && JSON.stringify({ namespace: until.namespace, ordinal: until.ordinal });
  await setProperty(queries, CHANGED_UNTIL, value);
}

/** The current embedding model. `dimensions` is null until the model has produced a vector. */
export interface ModelInUse {
  number: number;
  modelId: string;
  dimensions: number | null;
  /** JSON of `CosineScales`. Null for the bundled model, and until they were measured. */
  cosineScales: string | null;
}

/** See `Storage.cosineScales`. */
export async function cosineScales(queries: Queries): Promise<CosineScales | undefined> {
  return getCosineScales(await modelInUse(queries));
}

/** Returns the ranges of a model's cosines; undefined if it has none. */
export function getCosineScales(model: ModelInUse | undefined): CosineScales | undefined {
  return model?.cosineScales ? fromJson(model.cosineScales, 'the cosine ranges of model', model.modelId) : undefined;
}

/** See `Storage.keepCosineScales`. */
export async function keepCosineScales(transaction: Transaction, modelId: string, scales: CosineScales): Promise<void> {
  const json = JSON.stringify(scales);
  await transaction.run(sql`UPDATE embedding_model SET cosine_scales = ${json} WHERE model_id = ${modelId}`);
}

/** Returns the value of a database property, or undefined if the property is not set. */
export async function getProperty(queries: Pick<Queries, 'row'>, name: string): Promise<string | undefined> {
  return (await queries.row<{ value: string }>(sql`SELECT value FROM property WHERE name = ${name}`))?.value;
}

/** Sets a database property, or deletes it if the value is undefined. */
export async function setProperty(queries: Queries, name: string, value: string | undefined): Promise<void> {
  if (value === undefined) {
    await queries.run(sql`DELETE FROM property WHERE name = ${name}`);
    return;
  }
  await queries.run(sql`
    INSERT INTO property (name, value) VALUES (${name}, ${value})
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`);
}

/**
 * Acquires or renews a lease. See `Lease.acquire`. A lease that ends later than `now + 2 * ttlMs` is treated as ended,
 * because the clock must have been set back.
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

/** Releases a lease. The row stays, because fences must never decrease. */
export async function releaseLease(queries: Queries, name: string, holder: string): Promise<void> {
  await queries.run(sql`UPDATE lease SET holder = '', ends_at = 0 WHERE name = ${name} AND holder = ${holder}`);
}

/**
 * Throws UNAVAILABLE if another holder has acquired the lease since this fence was issued. Other holders cannot acquire
 * the lease until the transaction ends.
 */
export async function assertFence(queries: Queries, name: string, fence: number): Promise<void> {
  const present = await queries.row<{ fence: number }>(
    sql`SELECT fence FROM lease WHERE name = ${name} ${queries.dialect.forShare}`,
  );
  if (present?.fence !== fence)
    throw new MemoryError(
      'UNAVAILABLE',
      'another process has taken over the consolidation, so this process stops the run; retry later',
    );
}

/** See `Storage.secret`. */
export async function secret(queries: Queries): Promise<string> {
  const value = await getProperty(queries, 'secret');
  if (typeof value !== 'string') throw new CorruptDatabaseError('the secret for cursors is missing');
  return value;
}

const MIGRATING_FROM = 'migrating_from';

/** See `Storage.beginMigration`. The transaction must block stores until it ends. */
export async function beginMigration(queries: Queries, from: string): Promise<boolean> {
  if ((await getProperty(queries, MIGRATING_FROM)) === from) return true;
  if (await hasData(queries)) return false;
  await setProperty(queries, MIGRATING_FROM, from);
  return true;
}

/** See `Storage.isMigrating`. */
export async function isMigrating(queries: Queries): Promise<boolean> {
  return (await getProperty(queries, MIGRATING_FROM)) !== undefined;
}

/** See `Storage.endMigration`. */
export function endMigration(queries: Queries): Promise<void> {
  return setProperty(queries, MIGRATING_FROM, undefined);
}

const TABLES = ['memory', 'consolidation_run', 'declined_group', 'quota', 'hook_setting', 'import_run', 'api_key'];

async function hasData(queries: Queries): Promise<boolean> {
  const any = TABLES.map((table) => `EXISTS (SELECT 1 FROM ${table})`).join(' OR ');
  const found = await queries.row<{ any: boolean | number }>(sql`SELECT ${raw(any)} AS any`);
  return Boolean(found?.any);
}

/** Tests that the database is writable by writing a time and `chars` characters. See `Storage.probe`. */
export function probe(transaction: Queries, now: number, chars: number): Promise<void> {
  return setProperty(transaction, 'probed_at', `${now}${' '.repeat(chars)}`);
}

const BACKED_UP_AT = 'backed_up_at';

/** See `Storage.recordBackup`. */
export function recordBackup(transaction: Queries, at: number): Promise<void> {
  return setProperty(transaction, BACKED_UP_AT, String(at));
}

/** Returns the time of the last recorded backup, in ms, or null if no backup was recorded. */
export async function lastBackup(queries: Queries): Promise<number | null> {
  const at = await getProperty(queries, BACKED_UP_AT);
  return at === undefined ? null : Number(at);
}
