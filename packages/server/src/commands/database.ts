import { existsSync } from 'node:fs';
import { DEFAULTS, type MemoryApi } from '@memoryd/contract';
import { type DatabaseOptions, openEngine } from '@memoryd/engine';
import { Option } from 'commander';
import { type Environment, readSettings, SettingsError, settingOptions } from '../settings.ts';

/** The options that name the database. */
export const DATABASE_OPTIONS = settingOptions(['dbPath', 'databaseUrl']);

/** The option that names a namespace of it. */
export const NAMESPACE_OPTION = new Option('--namespace <name>', 'Namespace of the memories.').default(
  DEFAULTS.namespace,
);

/** What the options above were given. */
export interface DatabaseFlags {
  dbPath?: string;
  databaseUrl?: string;
}

/** The database that flags and environment name. */
export function databaseOf(flags: DatabaseFlags, env: Environment): DatabaseOptions {
  return settingsOf(flags, env).database;
}

/** As `databaseOf`, of one that is there; whether one on a server is, opening it tells. */
export function existingDatabase(flags: DatabaseFlags, env: Environment): DatabaseOptions {
  const database = databaseOf(flags, env);
  if (database.dbPath !== undefined && !existsSync(database.dbPath)) {
    throw new SettingsError(`there is no database at ${database.dbPath}; --db-path says where it is`);
  }
  return database;
}

/** The path of the database file that they name; a database on a server is copied by the server's own means. */
export function fileOf(flags: DatabaseFlags, env: Environment): string {
  const { dbPath } = databaseOf(flags, env);
  if (dbPath !== undefined) return dbPath;
  throw new SettingsError('this is for database files; a PostgreSQL database is copied by pg_dump and pg_restore');
}

/** As `fileOf`, of a file that is there. */
export function existingFile(flags: DatabaseFlags, env: Environment): string {
  existingDatabase(flags, env);
  return fileOf(flags, env);
}

/** Does work with a namespace of a database, whether or not a server uses it: nothing is embedded or consolidated. */
export async function withMemories<T>(
  { flags, env, namespace }: { flags: DatabaseFlags; env: Environment; namespace: string },
  work: (api: MemoryApi) => Promise<T>,
): Promise<T> {
  const { database, ...settings } = settingsOf(flags, env);
  const quiet = { embedder: 'none', sleepIntervalSeconds: 0, telemetry: { report: () => {} } };
  const engine = await openEngine({ ...settings, ...database, ...quiet });
  try {
    return await work(engine.namespace(namespace));
  } finally {
    await engine.close();
  }
}

function settingsOf({ dbPath, databaseUrl }: DatabaseFlags, env: Environment) {
  const flags = { ...(dbPath !== undefined && { dbPath }), ...(databaseUrl !== undefined && { databaseUrl }) };
  return readSettings(flags, env);
}
