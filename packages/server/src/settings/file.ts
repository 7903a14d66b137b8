import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { UsageError } from '../usage-error.ts';
import { type Environment, type Flags, readSettings, type Settings, type SettingsFile } from './read.ts';
import { describeUnknownKey, isSettingKey } from './unknown.ts';

/** The name of the settings file in the working directory. */
const SETTINGS_FILE = 'memoryd.config.json';

/** Maximum size of a settings file, far larger than all settings need. */
const MAX_BYTES = 1024 * 1024;

/**
 * Loads the settings from flags, environment variables and the settings file.
 *
 * @param search whether the settings file in the working directory is read if no flag names a file
 * @throws UsageError for an invalid value or combination of values, or an unreadable or invalid settings file
 */
export function loadSettings(flags: Flags, env: Environment, { search = true } = {}): Settings {
  const path = settingsPath(flags, search);
  return readSettings(flags, env, path === undefined ? undefined : readSettingsFile(path));
}

/** Returns the path of the settings file to read, or `undefined` if there is no settings file. */
export function settingsPath({ config }: Flags, search = true): string | undefined {
  if (typeof config === 'string') return resolve(config);
  const here = resolve(SETTINGS_FILE);
  return search && existsSync(here) ? here : undefined;
}

function readSettingsFile(path: string): SettingsFile {
  const values = parse(read(path), path);
  const unknown = Object.keys(values).find((key) => key !== '$schema' && !isSettingKey(key));
  if (unknown !== undefined) throw new UsageError(`${path}: ${describeUnknownKey(unknown)}`);
  const { $schema: _schema, dbPath, ...others } = values;
  // Resolves `dbPath` relative to the file, so that the path does not depend on the working directory.
  const database = typeof dbPath === 'string' && dbPath !== '' ? resolve(dirname(path), dbPath) : dbPath;
  return { path, values: { ...others, ...(dbPath !== undefined && { dbPath: database }) } };
}

function read(path: string): string {
  try {
    if (statSync(path).size > MAX_BYTES) throw new UsageError(`${path} must be at most ${MAX_BYTES} bytes`);
    return readFileSync(path, 'utf8');
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    throw new UsageError(
      `the settings file ${path} cannot be read (${(cause as NodeJS.ErrnoException).code}); check the path and its permissions`,
    );
  }
}

function parse(text: string, path: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    // The parser's own message is dropped, because it quotes the file, which may contain a key.
    throw new UsageError(`${path} must be JSON${describeLine(error, text)}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageError(`${path} must contain a JSON object`);
}

function describeLine(error: unknown, text: string): string {
  const [, position] = /at position (\d+)/.exec(String(error)) ?? [];
  return position === undefined ? '' : `; check line ${text.slice(0, Number(position)).split('\n').length}`;
}
