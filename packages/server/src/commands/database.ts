import { existsSync } from 'node:fs';
import { DEFAULTS } from '@memoryd/contract/limits';
import type { DatabaseOptions } from '@memoryd/engine';
import { Option } from 'commander';
import { loadSettings } from '../settings/file.ts';
import { settingOptions } from '../settings/options.ts';
import type { Environment, Flags, Settings } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';

/** The options that name the database. */
export const DATABASE_OPTIONS = settingOptions(['dbPath', 'databaseUrl']);

/** The option that names a namespace of it. */
export const NAMESPACE_OPTION = new Option('--namespace <name>', 'Namespace of the memories.').default(
  DEFAULTS.namespace,
);

/** The database that flags, environment and settings file name. */
export function readDatabase(flags: Flags, env: Environment): DatabaseOptions {
  return loadSettings(flags, env).database;
}

/** As `readDatabase`, of one that is there. */
export function existingDatabase(flags: Flags, env: Environment): DatabaseOptions {
  return assertThere(loadSettings(flags, env)).database;
}

/** Refuses settings that name a file which is not there; whether a database on a server is, opening it tells. */
export function assertThere(settings: Settings): Settings {
  const { dbPath } = settings.database;
  if (dbPath === undefined || existsSync(dbPath)) return settings;
  throw new UsageError(`there is no database at ${dbPath}; --db-path says where it is`);
}

/** What the help of a command says that is for database files alone. */
export const ONLY_FILES = 'A PostgreSQL database (--database-url) is refused: it is copied by its own tools.';

/** The path of a database file; a database on a server is copied by the server's own means. */
export function getFile({ dbPath }: DatabaseOptions): string {
  if (dbPath !== undefined) return dbPath;
  throw new UsageError('this is for database files; a PostgreSQL database is copied by pg_dump and pg_restore');
}
