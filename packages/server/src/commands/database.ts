import { DEFAULTS } from '@memoryd/contract/limits';
import type { DatabaseOptions } from '@memoryd/engine';
import { cannotOpen, getDatabaseName } from '@memoryd/engine/defaults';
import { Option } from 'commander';
import { loadSettings } from '../settings/file.ts';
import { settingOptions } from '../settings/options.ts';
import type { Environment, Flags, Settings } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';
import { warnings } from './warnings.ts';

/** The options that name the database. */
export const DATABASE_OPTIONS = settingOptions(['dbPath', 'databaseUrl']);

export const NAMESPACE_OPTION = new Option('--namespace <name>', 'Namespace of the memories.').default(
  DEFAULTS.namespace,
);

/**
 * Returns true if a command uses a running service instead of a database: a service URL is set, and no flag names a
 * database. Throws a UsageError if flags name both a service and a database.
 */
export function isRemote(flags: Flags, { url }: Settings): boolean {
  const flag = flags.dbPath !== undefined ? '--db-path' : flags.databaseUrl !== undefined && '--database-url';
  if (!flag) return url !== '';
  if (flags.url !== undefined) throw new UsageError(`${flag} and --url exclude each other; give one of them`);
  return false;
}

/**
 * Returns the database of a command that does not support a service. Throws a UsageError if a service URL is set and no
 * flag names a database, because the command would otherwise use a database that nobody named.
 */
export function readOwnDatabase(command: string, flags: Flags, env: Environment): DatabaseOptions {
  const settings = loadSettings(flags, env);
  if (!isRemote(flags, settings)) return settings.database;
  throw new UsageError(
    `SERVICE_URL or the settings file names the service ${settings.url}, but memoryd ${command} needs a database; name ` +
      'the database with --db-path',
  );
}

/** Throws a UsageError if the database does not exist. Creates nothing. Rejects with UNAVAILABLE like `hasDatabase`. */
export async function assertThere(database: DatabaseOptions): Promise<void> {
  if (await isThere(database)) return;
  throw new UsageError(
    `there is no database at ${getDatabaseName(database)}; name another one with --db-path or --database-url`,
  );
}

/** See `hasDatabase`. The error of a database that cannot be used names the database. */
export async function isThere(database: DatabaseOptions): Promise<boolean> {
  const { hasDatabase } = await import('@memoryd/engine');
  return hasDatabase(database, warnings()).catch((cause) => {
    throw cannotOpen(database, cause);
  });
}

/** Help text of commands that support only database files. */
export const ONLY_FILES = 'For database files only: copy a PostgreSQL database with pg_dump and pg_restore.';

/** Returns the path of a database file. Throws a UsageError for a PostgreSQL database. */
export function getFile(database: DatabaseOptions): string {
  if (database.dbPath !== undefined) return database.dbPath;
  throw new UsageError(
    `this command is for database files; copy ${getDatabaseName(database)} with pg_dump and pg_restore`,
  );
}
