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

export const NAMESPACE_OPTION = new Option('--namespace <name>', 'Namespace of the memories.').default(
  DEFAULTS.namespace,
);

/** Returns the database that flags, environment and settings file name. */
export function readDatabase(flags: Flags, env: Environment): DatabaseOptions {
  return loadSettings(flags, env).database;
}

/** Like `readDatabase`, but throws a UsageError if the database file does not exist. */
export function existingDatabase(flags: Flags, env: Environment): DatabaseOptions {
  return assertThere(loadSettings(flags, env)).database;
}

/** Throws a UsageError if settings name a database file that does not exist. Does not check a database on a server. */
export function assertThere(settings: Settings): Settings {
  const { dbPath } = settings.database;
  if (dbPath === undefined || existsSync(dbPath)) return settings;
  throw new UsageError(`there is no database at ${dbPath}; name another one with --db-path`);
}

/** Help text of commands that support only database files. */
export const ONLY_FILES = 'For database files only: copy a PostgreSQL database with pg_dump and pg_restore.';

/** Returns the path of a database file. Throws a UsageError for a PostgreSQL database. */
export function getFile({ dbPath }: DatabaseOptions): string {
  if (dbPath !== undefined) return dbPath;
  throw new UsageError('this command is for database files; copy a PostgreSQL database with pg_dump and pg_restore');
}
