import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { openEngine } from './open-engine.ts';

const OPTIONS = {
  dbPath: join(tmpdir(), 'memoryd-never-made', 'memory.db'),
  embedder: 'none',
  embeddingUrl: '',
  sleepIntervalSeconds: 0,
  workingAgeSeconds: 0,
  workingMax: 100,
  episodicMax: 0,
  semanticMax: 0,
  archiveDays: 30,
  maxAnswerBytes: 1024,
  telemetry: { report() {} },
};

it.each([{ embedder: 'other' }, { llmUrl: 'http://127.0.0.1:1/v1' }, { llmModel: 'qwen3' }])(
  'an engine does not open with %j',
  async (options) => {
    await expect(openEngine({ ...OPTIONS, ...options })).rejects.toThrow(TypeError);
  },
);

it('an engine that cannot open a database in whole leaves nothing of it open', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-in-part-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const dbPath = join(folder, 'memory.db');
  await (await openEngine({ ...OPTIONS, dbPath })).close();
  const file = new Sqlite(dbPath);
  file.exec("DELETE FROM property WHERE name = 'secret'");
  file.close();
  await expect(openEngine({ ...OPTIONS, dbPath })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining('damaged'),
  });
  // Whoever closes the last connection takes the log beside the file away.
  expect(readdirSync(folder)).toEqual(['memory.db']);
});
