import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCheck } from '@memoryd/contract';
import { type TSchema, Type } from '@memoryd/contract/typebox';
import { describe, expect, it, onTestFinished } from 'vitest';
import { UsageError } from '../usage-error.ts';
import { loadSettings } from './file.ts';
import { SETTING_NAMES } from './names.ts';
import { type Environment, readSettings, type Settings } from './read.ts';
import { type SettingKey, SettingsSchema } from './schema.ts';

/** Texts of which every kind of setting that is a text takes two. */
const TEXTS = [
  ...['/a', '/b', 'none', 'openai:model', 'http://a.example/v1', 'http://b.example/v1'],
  ...['a'.repeat(32), 'b'.repeat(32), 'postgres://a.example/a', 'postgres://b.example/b'],
  ...['Europe/Berlin', 'Asia/Tokyo'],
];

interface SettingSchema {
  type?: string;
  enum?: string[];
  minimum?: number;
  default?: unknown;
}

/** Two values that a setting may have, neither of which is its default where it can be helped. */
function twoValues(key: SettingKey): [unknown, unknown] {
  const schema: TSchema & SettingSchema = SettingsSchema.properties[key];
  const check = createCheck(Type.Object({ value: schema }), 'value');
  const isGood = (value: unknown) => check({ value }).length === 0 && value !== schema.default;
  const [first, second = schema.default] = getCandidates(schema).filter(isGood);
  expect(first, `a value of ${key}`).toBeDefined();
  return [first, second];
}

function getCandidates({ type, enum: choices, minimum = 0 }: SettingSchema): unknown[] {
  if (choices) return choices;
  if (type === 'boolean') return [true, false];
  if (type === 'array') return [['https://a.example'], ['https://b.example']];
  return type === 'integer' ? [minimum + 1, minimum + 2, minimum + 3] : TEXTS;
}

const getText = (value: unknown) => (Array.isArray(value) ? value.join(',') : String(value));

function getSetting(settings: Settings, key: SettingKey): unknown {
  const values: Partial<Record<SettingKey, unknown>> = { ...settings, ...settings.database };
  return values[key];
}

/** What must be given beside a setting. */
const BESIDE: Readonly<Record<string, Environment>> = {
  embeddingQueryPrefix: { SERVICE_EMBEDDER: 'transformers:model' },
  embeddingPassagePrefix: { SERVICE_EMBEDDER: 'transformers:model' },
  embeddingPooling: { SERVICE_EMBEDDER: 'transformers:model' },
  llmUrl: { SERVICE_LLM_MODEL: 'model' },
  llmModel: { SERVICE_LLM_URL: 'http://a.example/v1' },
  databaseReadUrl: { SERVICE_DATABASE_URL: 'postgres://a.example/memories' },
  databaseConnections: { SERVICE_DATABASE_URL: 'postgres://a.example/memories' },
};

describe.each(SETTING_NAMES)('$key', ({ key, env: variable }) => {
  const [one, other] = twoValues(key);
  const beside = BESIDE[key] ?? {};
  const file = (value: unknown) => ({ path: '/etc/memoryd.config.json', values: { [key]: value } });

  it('is taken from the settings file before the default', () => {
    expect(getSetting(readSettings({}, beside, file(one)), key)).toEqual(one);
  });

  it('is taken from its variable before the settings file', () => {
    expect(getSetting(readSettings({}, { ...beside, [variable]: getText(other) }, file(one)), key)).toEqual(other);
  });

  it('is taken from its flag before its variable', () => {
    const given = { ...beside, [variable]: getText(other) };
    expect(getSetting(readSettings({ [key]: getText(one) }, given, file(other)), key)).toEqual(one);
  });
});

/** A settings file that is removed when the test ends. */
function written(text: string, name = 'memoryd.config.json'): string {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-settings-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

function toRefusal(text: string): Error {
  try {
    loadSettings({ config: written(text) }, {});
  } catch (error) {
    return error as Error;
  }
  throw new Error('it was taken');
}

describe('a settings file', () => {
  it('is read where it is named', () => {
    const config = written('{"$schema": "x", "port": 8091, "corsOrigins": ["HTTPS://A.example"], "logQueries": false}');
    expect(loadSettings({ config }, {})).toMatchObject({
      port: 8091,
      corsOrigins: ['https://a.example'],
      logQueries: false,
    });
  });

  it('names a database as seen from its own folder', () => {
    const config = written('{"dbPath": "deep/memory.db"}');
    expect(loadSettings({ config }, {}).database.dbPath).toBe(join(config, '..', 'deep', 'memory.db'));
  });

  it.each([
    ['{"prot": 1}', 'no setting is called "prot" (Did you mean port?)'],
    ['{"db_path": "x"}', 'no setting is called "db_path" (Did you mean dbPath?)'],
    ['{"--db-path": "x"}', '(Did you mean dbPath?)'],
    ['{"SERVICE_LOG_LEVEL": "x"}', '(Did you mean logLevel?)'],
    ['{"embeder": "none"}', '(Did you mean embedder?)'],
    ['{"nothing like it": 1}', 'no setting is called "nothing like it"'],
    ['{"port": "8091"}', 'must be a whole number from 0 to 65535'],
    ['{"logQueries": "true"}', 'must be true or false'],
    ['{"corsOrigins": "https://a.example"}', 'must be origins'],
    ['{"dbPath": ""}', 'must be a path'],
    ['{"llmModel": "m"}', 'needs llmUrl as well'],
    ['[]', 'must hold a JSON object'],
    ['{"port":\n8091,\n}', 'is not JSON'],
  ])('like %j is refused in one line that names it', (text, says) => {
    const { name, message } = toRefusal(text);
    expect(name).toBe('UsageError');
    expect(message).toContain(says);
    expect(message).toContain('memoryd.config.json');
    expect(message).not.toContain('\n');
  });

  it('that is not JSON is not quoted, since it may hold a key', () => {
    expect(toRefusal('{"apiKey": "secret-secret-secret').message).not.toContain('secret');
  });

  it('that cannot be read is refused, and so is one that is too large', () => {
    expect(() => loadSettings({ config: '/nowhere/memoryd.config.json' }, {})).toThrow(UsageError);
    expect(() => loadSettings({ config: written(`{"host": "${'x'.repeat(1024 * 1024)}"}`) }, {})).toThrow('is larger');
    const config = written('{}');
    chmodSync(config, 0);
    if (process.getuid?.() !== 0) expect(() => loadSettings({ config }, {})).toThrow('EACCES');
  });
});
