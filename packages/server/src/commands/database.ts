import { existsSync } from 'node:fs';
import { DEFAULTS } from '@memoryd/contract/limits';
import { Option } from 'commander';
import { type Environment, type Flags, type Settings, SettingsError, settingOptions } from '../settings.ts';
import { loadSettings } from '../settings-file.ts';

/** The options that name the database. */
export const DATABASE_OPTIONS = settingOptions(['dbPath']);

/** The option that names a namespace of it. */
export const NAMESPACE_OPTION = new Option('--namespace <name>', 'Namespace of the memories.').default(
  DEFAULTS.namespace,
);

/** The path of the database that flags, environment and settings file name. */
export function databaseOf(flags: Flags, env: Environment): string {
  return loadSettings(flags, env).dbPath;
}

/** As `databaseOf`, of a database that is there. */
export function existingDatabase(flags: Flags, env: Environment): string {
  return assertThere(loadSettings(flags, env)).dbPath;
}

/** Refuses settings that name a database which is not there. */
export function assertThere(settings: Settings): Settings {
  if (existsSync(settings.dbPath)) return settings;
  throw new SettingsError(`there is no database at ${settings.dbPath}; --db-path says where it is`);
}
