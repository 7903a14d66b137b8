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

/** Candidate values; every text setting accepts at least two of them. */
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

/** Returns two valid values of a setting, different from its default if possible. */
function getTwoValues(key: SettingKey): [unknown, unknown] {
  const schema: TSchema & SettingSchema = SettingsSchema.properties[key];
  const check = createCheck(Type.Object({ value: schema }), 'value');
  const isValid = (value: unknown) => check({ value }).length === 0 && value !== schema.default;
  const [first, second = schema.default] = getCandidates(schema).filter(isValid);
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

/** Other settings that a setting requires. */
const REQUIRED: Readonly<Record<string, Environment>> = {
  embeddingQueryPrefix: { SERVICE_EMBEDDER: 'transformers:model' },
  embeddingPassagePrefix: { SERVICE_EMBEDDER: 'transformers:model' },
  embeddingPooling: { SERVICE_EMBEDDER: 'transformers:model' },
  embeddingQueryInputType: { SERVICE_EMBEDDER: 'openai:model' },
  embeddingPassageInputType: { SERVICE_EMBEDDER: 'openai:model' },
  llmUrl: { SERVICE_LLM_MODEL: 'model' },
  llmModel: { SERVICE_LLM_URL: 'http://a.example/v1' },
  rerankModel: { SERVICE_RERANK_URL: 'http://a.example/rerank' },
  databaseReadUrl: { SERVICE_DATABASE_URL: 'postgres://a.example/memories' },
  databaseConnections: { SERVICE_DATABASE_URL: 'postgres://a.example/memories' },
};

describe.each(SETTING_NAMES)('$key', ({ key, env: variable }) => {
  const [one, other] = getTwoValues(key);
  const required = REQUIRED[key] ?? {};
  const file = (value: unknown) => ({ path: '/etc/memoryd.config.json', values: { [key]: value } });

  it('a setting in the settings file overrides the default', () => {
    expect(getSetting(readSettings({}, required, file(one)), key)).toEqual(one);
  });

  it('a setting as a variable overrides the settings file', () => {
    expect(getSetting(readSettings({}, { ...required, [variable]: getText(other) }, file(one)), key)).toEqual(other);
  });

  it('a setting as a flag overrides the variable', () => {
    const given = { ...required, [variable]: getText(other) };
    expect(getSetting(readSettings({ [key]: getText(one) }, given, file(other)), key)).toEqual(one);
  });
});

/** Writes a settings file, which is removed after the test, and returns its path. */
function writeSettingsFile(text: string, name = 'memoryd.config.json'): string {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-settings-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

function getLoadError(text: string): Error {
  try {
    loadSettings({ config: writeSettingsFile(text) }, {});
  } catch (error) {
    return error as Error;
  }
  throw new Error('the settings file was accepted');
}

describe('a settings file', () => {
  it('a settings file is read from the path of --config', () => {
    const config = writeSettingsFile(
      '{"$schema": "x", "port": 8091, "corsOrigins": ["HTTPS://A.example"], "logQueries": false}',
    );
    expect(loadSettings({ config }, {})).toMatchObject({
      port: 8091,
      corsOrigins: ['https://a.example'],
      logQueries: false,
    });
  });

  it('resolves dbPath relative to its own folder', () => {
    const config = writeSettingsFile('{"dbPath": "deep/memory.db"}');
    expect(loadSettings({ config }, {}).database.dbPath).toBe(join(config, '..', 'deep', 'memory.db'));
  });

  it.each([
    ['{"prot": 1}', 'unknown setting "prot" (Did you mean port?)'],
    ['{"db_path": "x"}', 'unknown setting "db_path" (Did you mean dbPath?)'],
    ['{"--db-path": "x"}', '(Did you mean dbPath?)'],
    ['{"SERVICE_LOG_LEVEL": "x"}', '(Did you mean logLevel?)'],
    ['{"embeder": "none"}', '(Did you mean embedder?)'],
    ['{"nothing like it": 1}', 'unknown setting "nothing like it"'],
    ['{"port": "8091"}', 'must be a whole number from 0 to 65535'],
    ['{"logQueries": "true"}', 'must be true or false'],
    ['{"corsOrigins": "https://a.example"}', 'must be * or origins'],
    ['{"dbPath": ""}', 'must be a path'],
    ['{"llmModel": "m"}', 'also needs llmUrl'],
    ['[]', 'must contain a JSON object'],
    ['{"port":\n8091,\n}', 'must be JSON'],
  ])('a settings file with the content %j is rejected with a one-line error that names the file', (text, expected) => {
    const { name, message } = getLoadError(text);
    expect(name).toBe('UsageError');
    expect(message).toContain(expected);
    expect(message).toContain('memoryd.config.json');
    expect(message).not.toContain('\n');
  });

  it('a settings file that is not JSON is not quoted in the error, because it may contain a key', () => {
    expect(getLoadError('{"apiKey": "secret-secret-secret').message).not.toContain('secret');
  });

  it('a settings file is rejected if it cannot be read or is too large', () => {
    expect(() => loadSettings({ config: '/nowhere/memoryd.config.json' }, {})).toThrow(UsageError);
    expect(() => loadSettings({ config: writeSettingsFile(`{"host": "${'x'.repeat(1024 * 1024)}"}`) }, {})).toThrow(
      'must be at most',
    );
    const config = writeSettingsFile('{}');
    chmodSync(config, 0);
    if (process.getuid?.() !== 0) expect(() => loadSettings({ config }, {})).toThrow('EACCES');
  });
});
