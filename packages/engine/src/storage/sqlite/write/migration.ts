import { type Connection, sql } from '../connection.ts';

const MIGRATING_FROM = 'migrating_from';

/** See `Storage.beginMigration`. */
export function beginMigration(connection: Connection, from: string): boolean {
  const noted = sql(connection, 'SELECT value FROM property WHERE name = ?').pluck().get(MIGRATING_FROM);
  if (noted === from) return true;
  if (keepsAnything(connection)) return false;
  sql(connection, 'INSERT INTO property VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value').run(
    MIGRATING_FROM,
    from,
  );
  return true;
}

/** See `Storage.isMigrating`. */
export function isMigrating(connection: Connection): boolean {
  return sql(connection, 'SELECT 1 FROM property WHERE name = ?').get(MIGRATING_FROM) !== undefined;
}

/** See `Storage.endMigration`. */
export function endMigration(connection: Connection): void {
  sql(connection, 'DELETE FROM property WHERE name = ?').run(MIGRATING_FROM);
}

function keepsAnything(connection: Connection): boolean {
  const tables = ['memory', 'sleep_run', 'declined_group', 'namespace_quota', 'api_key'];
  return tables.some((table) => sql(connection, `SELECT 1 FROM ${table} LIMIT 1`).get() !== undefined);
}
