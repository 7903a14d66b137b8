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

it.each([{ embedder: 'other' }, { llmUrl: 'http://127.0.0.1:1/v1' }, { llmModel: 'qwen3' }, { rerankModel: 'm' }])(
  'openEngine rejects the options %j',
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
  ['rerankForm', 'jina'],
  ['embeddingQueryPrefix', 7],
  ['embeddingPassagePrefix', 'p'.repeat(257)],
  ['embeddingPooling', 'max'],
  ['embeddingQueryInputType', 7],
  ['embeddingPassageInputType', 'search document'],
])('openEngine rejects %s = %s with an error that names the option', async (name, value) => {
  const opening = openEngine({ ...OPTIONS, [name]: value });
  await expect(opening).rejects.toThrow(TypeError);
  await expect(opening).rejects.toThrow(new RegExp(`^${name} must be `));
});

it.each([
  ['embeddingQueryPrefix', 'query: ', 'minilm', 'openai:MODEL or transformers:MODEL'],
  ['embeddingPassagePrefix', 'passage: ', 'none', 'openai:MODEL or transformers:MODEL'],
  ['embeddingPooling', 'cls', 'openai:e5', 'transformers:MODEL'],
  ['embeddingQueryInputType', 'query', 'transformers:e5', 'openai:MODEL'],
  ['embeddingPassageInputType', 'passage', 'minilm', 'openai:MODEL'],
])(
  'openEngine rejects %s if the embedder ignores it, and the error names the required embedder',
  async (name, value, embedder, needs) => {
    const opening = openEngine({ ...OPTIONS, embedder, [name]: value });
    await expect(opening).rejects.toThrow(TypeError);
    await expect(opening).rejects.toThrow(`${name} requires the embedder ${needs}, but embedder is ${embedder}`);
  },
);

it('openEngine accepts empty prefixes for an embedder without prefixes', async () => {
  const none = { embeddingQueryPrefix: '', embeddingPassagePrefix: '' };
  await (await openEngine({ ...OPTIONS, ...none, dbPath: newDatabase() })).close();
});

it('openEngine opens a database with default options, and the engine serves any namespace', async () => {
  const engine = await openEngine(newDatabase());
  const [one, other] = ['one', 'other'].map((name) => engine.namespace(name));
  await one?.store({ content: 'Ann rows every morning.' });
  expect((await one?.recall({ query: 'sports' }))?.results).toHaveLength(1);
  expect((await other?.recall({ query: 'sports' }))?.results).toEqual([]);
  expect(engine.embedder()).toMatchObject({ state: 'ready' });
  await engine.close();
});

it('openEngine rejects an unknown option with an error that names the option', async () => {
  const opening = openEngine({ ...OPTIONS, ...{ redactt: 'on' } });
  await expect(opening).rejects.toThrow(TypeError);
  await expect(opening).rejects.toThrow('unknown option redactt');
});

const folder = mkdtempSync(join(tmpdir(), 'memoryd-options-'));
const empty = join(folder, 'memory.db');
beforeAll(async () => (await openEngine({ ...OPTIONS, dbPath: empty })).close());
afterAll(() => rmSync(folder, { recursive: true }));

/** Creates an empty database in a folder of its own and returns its path. */
function newDatabase(): string {
  const dbPath = join(mkdtempSync(join(folder, 'new-')), 'memory.db');
  copyFileSync(empty, dbPath);
  return dbPath;
}

/** Starts a model server that never responds, and counts the requests that wait. */
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
  ['is not a database', (dbPath) => writeFileSync(dbPath, 'a letter to nobody\n'.repeat(1000))],
  [
    'contains an unfinished migration',
    (dbPath) => {
      const file = new Sqlite(dbPath);
      file.exec("INSERT INTO property VALUES ('migrating_from', 'elsewhere')");
      file.close();
    },
  ],
])('openEngine aborts opening the model if the file %s', async (_what, spoil) => {
  const dbPath = newDatabase();
  spoil(dbPath);
  const { embeddingUrl, waiting } = await silentModel();
  await expect(openEngine({ ...OPTIONS, dbPath, embedder: 'openai:silent', embeddingUrl })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
  });
  await expect.poll(() => waiting.requests).toBe(0);
});

it('openEngine closes a database that it cannot open completely', async () => {
  const dbPath = newDatabase();
  const file = new Sqlite(dbPath);
  file.exec("DELETE FROM property WHERE name = 'secret'");
  file.close();
  await expect(openEngine({ ...OPTIONS, dbPath })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining('corrupt'),
  });
  // SQLite deletes the write-ahead log when the last connection is closed.
  expect(readdirSync(dirname(dbPath))).toEqual(['memory.db']);
});
