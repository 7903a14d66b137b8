import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { UsageError } from '../usage-error.ts';
import { type Environment, type Flags, readSettings, type Settings, type SettingsFile } from './read.ts';
import { isKey, unknownKey } from './unknown.ts';

/** The settings file that is read where it stands in the working directory. */
const SETTINGS_FILE = 'memoryd.config.json';

/** All settings, with a comment's worth of blanks each, take a small part of it. */
const MAX_BYTES = 1024 * 1024;

/**
 * The settings that flags, the environment and the settings file give.
 *
 * @param search whether a settings file in the working directory is read that no flag names
 * @throws UsageError for a bad value, or a file that cannot be read or holds what is no setting
 */
export function loadSettings(flags: Flags, env: Environment, { search = true } = {}): Settings {
  const path = settingsPath(flags, search);
  return readSettings(flags, env, path === undefined ? undefined : readSettingsFile(path));
}

/** The path of the settings file that is read; undefined where there is none. */
export function settingsPath({ config }: Flags, search = true): string | undefined {
  if (typeof config === 'string') return resolve(config);
  const here = resolve(SETTINGS_FILE);
  return search && existsSync(here) ? here : undefined;
}

function readSettingsFile(path: string): SettingsFile {
  const values = parse(read(path), path);
  const unknown = Object.keys(values).find((key) => key !== '$schema' && !isKey(key));
  if (unknown !== undefined) throw new UsageError(`${path}: ${unknownKey(unknown)}`);
  const { $schema: _schema, dbPath, ...others } = values;
  // Seen from the file, so that it means the same whatever the working directory is.
  const database = typeof dbPath === 'string' && dbPath !== '' ? resolve(dirname(path), dbPath) : dbPath;
  return { path, values: { ...others, ...(dbPath !== undefined && { dbPath: database }) } };
}

function read(path: string): string {
  try {
    if (statSync(path).size > MAX_BYTES) throw new UsageError(`${path} is larger than ${MAX_BYTES} bytes`);
    return readFileSync(path, 'utf8');
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    throw new UsageError(`${path} cannot be read (${(cause as NodeJS.ErrnoException).code})`);
  }
}

function parse(text: string, path: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    // The parser's message quotes what it stumbled over, which may be a key.
    throw new UsageError(`${path} is not JSON${getPlace(error, text)}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageError(`${path} must hold a JSON object`);
}

function getPlace(error: unknown, text: string): string {
  const [, position] = /at position (\d+)/.exec(String(error)) ?? [];
  return position === undefined ? '' : `; look at line ${text.slice(0, Number(position)).split('\n').length}`;
}
