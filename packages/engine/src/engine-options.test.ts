import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { openEngine } from './open-engine.ts';

const OPTIONS = {
  dbPath: join(tmpdir(), 'memoryd-never-made', 'memory.db'),
  embedder: 'none',
  embeddingUrl: '',
  consolidationIntervalSeconds: 0,
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

it.each([
  ['archiveDays', Number.NaN],
  ['archiveDays', 3651],
  ['consolidationIntervalSeconds', -1],
  ['workingMax', 'many'],
  ['workingMax', 3],
  ['episodicMax', 1.5],
  ['namespaceMaxBytes', null],
  ['maxAnswerBytes', '1024'],
  ['redact', 'yes'],
  ['tokenStates', 'none'],
  ['embeddingQueryPrefix', 7],
  ['embeddingPassagePrefix', 'p'.repeat(257)],
  ['embeddingPooling', 'max'],
])('an engine whose %s is %s does not open, and names the setting', async (name, value) => {
  const opening = openEngine({ ...OPTIONS, [name]: value });
  await expect(opening).rejects.toThrow(TypeError);
  await expect(opening).rejects.toThrow(new RegExp(`^${name} must be `));
});

it.each([
  ['embeddingQueryPrefix', 'query: ', 'minilm', 'openai:MODEL or transformers:MODEL'],
  ['embeddingPassagePrefix', 'passage: ', 'none', 'openai:MODEL or transformers:MODEL'],
  ['embeddingPooling', 'cls', 'openai:e5', 'transformers:MODEL'],
])(
  'an engine whose embedder ignores %s does not open, and says what it needs',
  async (name, value, embedder, needs) => {
    const opening = openEngine({ ...OPTIONS, embedder, [name]: value });
    await expect(opening).rejects.toThrow(TypeError);
    await expect(opening).rejects.toThrow(`${name} needs an embedder ${needs}, and embedder is ${embedder}`);
  },
);

it('an engine without prefixes opens if they are given as empty', async () => {
  const none = { embeddingQueryPrefix: '', embeddingPassagePrefix: '' };
  await (await openEngine({ ...OPTIONS, ...none, dbPath: newDatabase() })).close();
});

it('an engine that is told a database alone opens with the defaults, and serves any namespace', async () => {
  const engine = await openEngine(newDatabase());
  const [one, other] = ['one', 'other'].map((name) => engine.namespace(name));
  await one?.store({ content: 'Ann rows every morning.' });
  expect((await one?.recall({ query: 'sports' }))?.results).toHaveLength(1);
  expect((await other?.recall({ query: 'sports' }))?.results).toEqual([]);
  expect(engine.embedder()).toMatchObject({ state: 'ready' });
  await engine.close();
});

it('an engine with an option that there is not does not open, and names it', async () => {
  const opening = openEngine({ ...OPTIONS, ...{ redactt: 'on' } });
  await expect(opening).rejects.toThrow(TypeError);
  await expect(opening).rejects.toThrow('there is no option redactt');
});

const folder = mkdtempSync(join(tmpdir(), 'memoryd-options-'));
const empty = join(folder, 'memory.db');
beforeAll(async () => (await openEngine({ ...OPTIONS, dbPath: empty })).close());
afterAll(() => rmSync(folder, { recursive: true }));

/** Returns the path of a new database, which alone is in its folder. */
function newDatabase(): string {
  const dbPath = join(mkdtempSync(join(folder, 'new-')), 'memory.db');
  copyFileSync(empty, dbPath);
  return dbPath;
}

/** A model that does not answer, and how many wait for it. */
async function silentModel() {
  const waiting = { requests: 0 };
  const server = createServer((_request, response) => {
    waiting.requests++;
    response.on('close', () => void waiting.requests--);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { embeddingUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, waiting };
}

it.each<[string, (dbPath: string) => void]>([
  ['is no database', (dbPath) => writeFileSync(dbPath, 'a letter to nobody\n'.repeat(1000))],
  [
    'holds a part of another',
    (dbPath) => {
      const file = new Sqlite(dbPath);
      file.exec("INSERT INTO property VALUES ('migrating_from', 'elsewhere')");
      file.close();
    },
  ],
])('an engine gives up the model that it opens where the file %s', async (_what, spoil) => {
  const dbPath = newDatabase();
  spoil(dbPath);
  const { embeddingUrl, waiting } = await silentModel();
  await expect(openEngine({ ...OPTIONS, dbPath, embedder: 'openai:silent', embeddingUrl })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
  });
  await expect.poll(() => waiting.requests).toBe(0);
});

it('an engine that cannot open a database in whole leaves nothing of it open', async () => {
  const dbPath = newDatabase();
  const file = new Sqlite(dbPath);
  file.exec("DELETE FROM property WHERE name = 'secret'");
  file.close();
  await expect(openEngine({ ...OPTIONS, dbPath })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining('damaged'),
  });
  // Whoever closes the last connection takes the log beside the file away.
  expect(readdirSync(dirname(dbPath))).toEqual(['memory.db']);
});
