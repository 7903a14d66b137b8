import type { Queries } from './queries.ts';
import { raw, sql } from './sql.ts';

const MIGRATING_FROM = 'migrating_from';

/** See `Storage.beginMigration`. No memory is stored until the transaction ends. */
export async function beginMigration(queries: Queries, from: string): Promise<boolean> {
  const noted = await queries.row<{ value: string }>(sql`SELECT value FROM property WHERE name = ${MIGRATING_FROM}`);
  if (noted?.value === from) return true;
  if (await keepsAnything(queries)) return false;
  await queries.run(sql`
    INSERT INTO property (name, value) VALUES (${MIGRATING_FROM}, ${from})
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`);
  return true;
}

/** See `Storage.isMigrating`. */
export async function isMigrating(queries: Queries): Promise<boolean> {
  return (await queries.row(sql`SELECT 1 FROM property WHERE name = ${MIGRATING_FROM}`)) !== undefined;
}

/** See `Storage.endMigration`. */
export async function endMigration(queries: Queries): Promise<void> {
  await queries.run(sql`DELETE FROM property WHERE name = ${MIGRATING_FROM}`);
}

const TABLES = ['memory', 'sleep_run', 'declined_group', 'namespace_quota', 'api_key'];

async function keepsAnything(queries: Queries): Promise<boolean> {
  const any = TABLES.map((table) => `EXISTS (SELECT 1 FROM ${table})`).join(' OR ');
  const found = await queries.row<{ any: boolean | number }>(sql`SELECT ${raw(any)} AS any`);
  return Boolean(found?.any);
}
