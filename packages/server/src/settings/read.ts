import { createCheck } from '@memoryd/contract';
import type { TSchema } from '@memoryd/contract/typebox';
import type { DatabaseOptions } from '@memoryd/engine';
import { findIgnoredSetting } from '@memoryd/engine/defaults';
import { decodeText } from '../text-values.ts';
import { UsageError } from '../usage-error.ts';
import { SETTING_NAMES, type SettingName, type SettingOptions } from './names.ts';
import { type SettingKey, SettingsSchema, type SettingValues } from './schema.ts';

/** The settings that are combined into `Settings.database`. */
type DatabaseSetting = 'dbPath' | 'databaseUrl' | 'databaseReadUrl' | 'databaseConnections';

/** The validated values of all settings, with defaults for settings that are not set. */
export interface Settings extends Omit<SettingValues, DatabaseSetting> {
  database: DatabaseOptions;
  /** Whether a flag, a variable or the settings file names the database, so that its path is not the default. */
  isDatabaseNamed: boolean;
  /** Whether `NODE_ENV` is `production`; any other value is development. */
  production: boolean;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** The values of command line options, by setting key. */
export type Flags = Readonly<Record<string, unknown>>;

/** A settings file: its path, and its values by setting key. */
export interface SettingsFile {
  path: string;
  values: Readonly<Record<string, unknown>>;
}

/**
 * Reads the settings from flags, environment variables and a settings file. A flag overrides its variable, and a
 * variable overrides the file.
 *
 * @param flags values of the options of `settingOptions`; other keys are ignored
 * @throws UsageError for an invalid value or combination of values
 */
export function readSettings(flags: Flags, env: Environment, file?: SettingsFile): Settings {
  const values: Record<string, unknown> = {};
  const writtenAs: Record<string, string> = {};
  const given = new Map<SettingKey, WrittenForm>();
  for (const name of SETTING_NAMES) {
    const schema = SettingsSchema.properties[name.key] as TSchema & SettingOptions;
    const setting = findGivenSetting(name, flags, env, file);
    if (setting) given.set(name.key, setting.form);
    writtenAs[name.key] = setting?.writtenAs ?? name.env;
    const value = setting === undefined ? schema.default : decodeSetting(schema, setting);
    if (value !== undefined) values[name.key] = value;
  }
  const detail = checkSettings(values)[0];
  if (detail) {
    const key = detail.path.split('/')[1] ?? '';
    throw new UsageError(detail.message.replace(key, writtenAs[key] ?? key));
  }
  const settings = values as SettingValues;
  assertRequiredPairs(settings, writtenAs, given);
  const ignored = findIgnoredSetting(settings);
  if (ignored) {
    const embedder = `${writtenAs.embedder} is ${settings.embedder}`;
    throw new UsageError(`${writtenAs[ignored.name]} needs an embedder ${ignored.needs}, but ${embedder}`);
  }
  // Refused, because the memories in the unused database would seem lost.
  if (given.has('dbPath') && settings.databaseUrl !== '') {
    throw new UsageError(`${writtenAs.dbPath} and ${writtenAs.databaseUrl} name two databases; set only one of them`);
  }
  const isDatabaseNamed = given.has('dbPath') || settings.databaseUrl !== '';
  return { ...withDatabase(settings), isDatabaseNamed, production: env.NODE_ENV === 'production' };
}

/** The source of a setting, which determines its name in messages. */
type WrittenForm = 'flag' | 'env' | 'key';

/** An explicitly set value of a setting, with the setting's name in the source of the value. */
interface GivenSetting {
  value: unknown;
  writtenAs: string;
  form: WrittenForm;
}

function findGivenSetting(
  { key, flag, env: variable }: SettingName,
  flags: Flags,
  env: Environment,
  file: SettingsFile | undefined,
): GivenSetting | undefined {
  if (flags[key] !== undefined) return { value: flags[key], writtenAs: flag, form: 'flag' };
  if (env[variable] !== undefined) return { value: env[variable], writtenAs: variable, form: 'env' };
  if (!file || !Object.hasOwn(file.values, key)) return undefined;
  return { value: file.values[key], writtenAs: `${key} in ${file.path}`, form: 'key' };
}

function withDatabase({ dbPath, databaseUrl, databaseReadUrl, databaseConnections, ...others }: SettingValues) {
  const server = { databaseUrl, databaseConnections, ...(databaseReadUrl !== '' && { databaseReadUrl }) };
  const database: DatabaseOptions = databaseUrl === '' ? { dbPath } : server;
  return { ...others, database };
}

/** Pairs of settings. The first setting of a pair requires the second. */
const REQUIRED_PAIRS = [
  ['llmUrl', 'llmModel'],
  ['llmModel', 'llmUrl'],
  ['rerankModel', 'rerankUrl'],
  ['databaseReadUrl', 'databaseUrl'],
] as const satisfies [SettingKey, SettingKey][];

function assertRequiredPairs(
  settings: SettingValues,
  writtenAs: Record<string, string>,
  given: ReadonlyMap<SettingKey, WrittenForm>,
): void {
  for (const [one, other] of REQUIRED_PAIRS) {
    if (settings[one] === '' || settings[other] !== '') continue;
    // The message names the missing setting in the style of the present setting: as a flag, a variable or a key.
    const missing = SETTING_NAMES.find(({ key }) => key === other)?.[given.get(one) ?? 'env'];
    throw new UsageError(`${writtenAs[one]} also needs ${missing}`);
  }
}

const checkSettings = createCheck(SettingsSchema, 'settings');

function decodeSetting(schema: TSchema & SettingOptions, { value, form }: GivenSetting): unknown {
  // Flags and variables are texts that must be parsed; a settings file has JSON values.
  const text = form !== 'key' && typeof value === 'string' ? value : undefined;
  if (schema.type === 'array') return parseOrigins(text?.split(',') ?? value);
  return text === undefined ? value : decodeText(schema, text);
}

function parseOrigins(given: unknown): unknown {
  if (!Array.isArray(given)) return given;
  const items = given.map((item) => (typeof item === 'string' ? item.trim().toLowerCase() : item));
  return items.filter((item) => item !== '');
}
