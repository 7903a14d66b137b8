import { createCheck } from '@memoryd/contract';
import type { TSchema } from '@memoryd/contract/typebox';
import type { DatabaseOptions } from '@memoryd/engine';
import { findIgnoredSetting } from '@memoryd/engine/defaults';
import { decodeText } from '../text-values.ts';
import { UsageError } from '../usage-error.ts';
import { SETTING_NAMES, type SettingName, type SettingOptions } from './names.ts';
import { type SettingKey, SettingsSchema, type SettingValues } from './schema.ts';

/** Those that say which database, and how to speak to it. */
type DatabaseSetting = 'dbPath' | 'databaseUrl' | 'databaseReadUrl' | 'databaseConnections';

/** Values of all settings. `production`: `NODE_ENV` is `production`; anything else is development. */
export interface Settings extends Omit<SettingValues, DatabaseSetting> {
  database: DatabaseOptions;
  production: boolean;
}

/** Variables of the process's environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What was given to the options of a command, by their keys. */
export type Flags = Readonly<Record<string, unknown>>;

/** What stands in a settings file, by the keys of settings. */
export interface SettingsFile {
  path: string;
  values: Readonly<Record<string, unknown>>;
}

/**
 * The settings that flags, an environment and a settings file give: a flag wins over its variable, and a variable over the
 * file.
 *
 * @param flags what was given to the options of `settingOptions`; others are not looked at
 * @throws UsageError for a bad value
 */
export function readSettings(flags: Flags, env: Environment, file?: SettingsFile): Settings {
  const values: Record<string, unknown> = {};
  const writtenAs: Record<string, string> = {};
  const given = new Map<SettingKey, WrittenForm>();
  for (const name of SETTING_NAMES) {
    const schema = SettingsSchema.properties[name.key] as TSchema & SettingOptions;
    const found = givenFor(name, flags, env, file);
    if (found) given.set(name.key, found.form);
    writtenAs[name.key] = found?.writtenAs ?? name.env;
    const value = found === undefined ? schema.default : decodeSetting(schema, found);
    if (value !== undefined) values[name.key] = value;
  }
  const wrong = checkSettings(values)[0];
  if (wrong) {
    const key = wrong.path.split('/')[1] ?? '';
    throw new UsageError(wrong.message.replace(key, writtenAs[key] ?? key));
  }
  const settings = values as SettingValues;
  assertTogether(settings, writtenAs, given);
  const ignored = findIgnoredSetting(settings);
  if (ignored) {
    const embedder = `${writtenAs.embedder} is ${settings.embedder}`;
    throw new UsageError(`${writtenAs[ignored.name]} needs an embedder ${ignored.needs}, and ${embedder}`);
  }
  // Of a file and a server, neither is chosen: the other's memories would be missed.
  if (given.has('dbPath') && settings.databaseUrl !== '') {
    throw new UsageError(`${writtenAs.dbPath} and ${writtenAs.databaseUrl} name two databases; give one of them`);
  }
  return { ...withDatabase(settings), production: env.NODE_ENV === 'production' };
}

/** Where a setting was given, and so by which of its names. */
type WrittenForm = 'flag' | 'env' | 'key';

/** What a setting was given, and how it is called where it was. */
interface GivenSetting {
  value: unknown;
  writtenAs: string;
  form: WrittenForm;
}

function givenFor(
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

/** Pairs of settings of which the first needs the second. */
const TOGETHER = [
  ['llmUrl', 'llmModel'],
  ['llmModel', 'llmUrl'],
  ['databaseReadUrl', 'databaseUrl'],
] as const satisfies [SettingKey, SettingKey][];

function assertTogether(
  settings: SettingValues,
  writtenAs: Record<string, string>,
  given: ReadonlyMap<SettingKey, WrittenForm>,
): void {
  for (const [one, other] of TOGETHER) {
    if (settings[one] === '' || settings[other] !== '') continue;
    // By a name of the kind that the one was given by.
    const missing = SETTING_NAMES.find(({ key }) => key === other)?.[given.get(one) ?? 'env'];
    throw new UsageError(`${writtenAs[one]} needs ${missing} as well`);
  }
}

const checkSettings = createCheck(SettingsSchema, 'settings');

function decodeSetting(schema: TSchema & SettingOptions, { value, form }: GivenSetting): unknown {
  // Texts stand for values in flags and variables; in a file, which has values of its own, they stand for themselves.
  const text = form !== 'key' && typeof value === 'string' ? value : undefined;
  if (schema.type === 'array') return parseOrigins(text?.split(',') ?? value);
  return text === undefined ? value : decodeText(schema, text);
}

function parseOrigins(given: unknown): unknown {
  if (!Array.isArray(given)) return given;
  const items = given.map((item) => (typeof item === 'string' ? item.trim().toLowerCase() : item));
  return items.filter((item) => item !== '');
}
