import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { exportMemories } from './core/export.ts';
import { ENGINE_DEFAULTS } from './engine-defaults.ts';
import { type Migrated, migrateDatabase } from './migrate-database.ts';
import { openEngine } from './open-engine.ts';
import { type DatabaseOptions, openStorage } from './open-storage.ts';
import { newMemory } from './ports/new-memory.fixture.ts';
import type { NewMemory } from './ports/storage-memories.ts';
import { fillFile } from './schema-files/filled-file.fixture.ts';
import type { OpenDatabase } from './storage/open-database.ts';
import {
  type DatabaseServer,
  PGLITE_STANDS_IN,
  startPglite,
  usePostgres,
} from './storage/postgres/database.fixture.ts';

const { TEST_DATABASE_URL } = process.env;
const MIGRATE = new URL('../dist/migrate-database.js', import.meta.url);

/** More than one commit takes, so that a migration can be cut off between two. */
const MANY = 600;

let folder: string;
let filled: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'memoryd-'));
  filled = join(folder, 'filled.db');
  await fillFile(filled);
  await using({ dbPath: filled }, async ({ storage, keys }) => {
    await storage.storeMany(Array.from({ length: MANY }, (_, i) => memory(`many ${i}`)));
    await storage.setQuota('many', { memories: MANY - 1, bytes: null });
    await storage.setQuota('nothing', { memories: 5, bytes: 0 });
    const key = { namespace: 'team b', scope: 'write' as const, digest: 'ab', createdAt: 7, revokedAt: null };
    for (const id of ['z', 'a']) await keys.add({ ...key, id });
    await keys.revoke('z', 9);
  });
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true }));

const memory = (id: string, fields: Partial<NewMemory> = {}) => newMemory({ namespace: 'many', id, ...fields });

async function using<T>(database: DatabaseOptions, work: (opened: OpenDatabase) => Promise<T>): Promise<T> {
  const opened = await openStorage({ ...database, workingMax: 10_000, recalls: false });
  try {
    return await work(opened);
  } finally {
    await opened.storage.close();
  }
}

/** All that a migration brings along. */
function contentsOf(database: DatabaseOptions) {
  return using(database, async ({ storage, keys }) => {
    expect(await storage.integrity()).toEqual([]);
    const namespaces = await storage.usage(Date.now());
    const lines: Record<string, string[]> = {};
    for (const { name } of namespaces) {
      const exported: string[] = [];
      for await (const line of exportMemories({ storage }, name)) exported.push(line);
      lines[name] = exported;
    }
    return { namespaces, lines, keys: (await keys.read())?.keys };
  });
}

let names = 0;
const newFile = () => ({ dbPath: join(folder, `${++names}.db`) });

/** Migrates in a process that is killed once so many lines have been written or checked. */
async function migrateKilled(from: DatabaseOptions, to: DatabaseOptions, after: number): Promise<void> {
  const script = `
    import { migrateDatabase } from '${MIGRATE}';
    const onMigrated = (done) => done === ${after} && process.kill(process.pid, 'SIGKILL');
    await migrateDatabase(${JSON.stringify({ from, to })}, { onMigrated });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' });
  const [, signal] = await once(child, 'exit');
  expect(signal).toBe('SIGKILL');
}

describe.runIf(PGLITE_STANDS_IN)('migrating to PGlite', () => migratesBothWays(startPglite));
describe.runIf(TEST_DATABASE_URL)('migrating to PostgreSQL', () =>
  migratesBothWays(() => usePostgres(TEST_DATABASE_URL ?? '')),
);

function migratesBothWays(start: () => Promise<DatabaseServer>): void {
  let server: DatabaseServer;
  let url: string;
  let postgres: DatabaseOptions;

  beforeAll(async () => {
    server = await start();
  });
  beforeEach(async () => {
    url = await server.create();
    postgres = { databaseUrl: url, databaseConnections: server.connections };
  });
  afterEach(() => server.drop(url));
  afterAll(() => server.close());

  async function migrate(from: DatabaseOptions, to: DatabaseOptions): Promise<Migrated> {
    await server.reopening(url);
    try {
      return await migrateDatabase({ from, to });
    } finally {
      await server.reopening(url);
    }
  }

  async function contents(database: DatabaseOptions) {
    await server.reopening(url);
    return contentsOf(database);
  }

  it('brings all that a file keeps there and back, and tells both apart by nothing', async () => {
    const before = await contents({ dbPath: filled });
    const there = await migrate({ dbPath: filled }, postgres);
    expect(there.keys).toBe(2);
    expect(there.namespaces.map(({ name, lines }) => [name, lines])).toEqual(
      Object.entries(before.lines).map(([name, lines]) => [name, lines.length - 1]),
    );
    expect(await contents(postgres)).toEqual(before);
    const back = newFile();
    expect(await migrate(postgres, back)).toEqual(there);
    expect(await contents(back)).toEqual(before);
  }, 60_000);

  it('goes on where it was killed, either way', async () => {
    const count = (database: DatabaseOptions) =>
      using(database, async ({ storage }) => (await storage.totals(Date.now())).working_count);
    const before = await contents({ dbPath: filled });
    await migrateKilled({ dbPath: filled }, postgres, 400);
    await server.reopening(url);
    expect(await count(postgres)).toBeGreaterThan(256);
    await server.reopening(url);
    expect(await count(postgres)).toBeLessThan(MANY);
    await migrate({ dbPath: filled }, postgres);
    expect(await contents(postgres)).toEqual(before);
    const back = newFile();
    await server.reopening(url);
    await migrateKilled(postgres, back, 400);
    expect(await count(back)).toBeGreaterThan(256);
    expect(await count(back)).toBeLessThan(MANY);
    await migrate(postgres, back);
    expect(await contents(back)).toEqual(before);
  }, 120_000);
}

describe('a migration', () => {
  let from: { dbPath: string };
  let to: { dbPath: string };
  beforeEach(async () => {
    [from, to] = [newFile(), newFile()];
    await using(from, ({ storage }) => storage.storeMany([memory('a'), memory('b')]));
  });

  it('leaves a database alone that keeps anything else', async () => {
    await using(to, ({ storage }) => storage.store(memory('mine')));
    await expect(migrateDatabase({ from, to })).rejects.toMatchObject({ code: 'CONFLICT' });
    expect((await contentsOf(to)).lines.many).toHaveLength(2);
  });

  it('is not done again into what has been used since', async () => {
    await migrateDatabase({ from, to });
    await using(to, ({ storage }) => storage.forget('many', 'a'));
    await expect(migrateDatabase({ from, to })).rejects.toMatchObject({ code: 'CONFLICT' });
    expect((await contentsOf(to)).lines.many).toHaveLength(2);
  });

  it('does not take a copy of a database for another', async () => {
    copyFileSync(from.dbPath, to.dbPath);
    for (const same of [from, to]) {
      await expect(migrateDatabase({ from, to: same })).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringContaining('one database'),
      });
    }
  });

  it('makes no file where there is none to read', async () => {
    const missing = newFile();
    await expect(migrateDatabase({ from: missing, to })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(migrateDatabase({ from: missing, to })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('ends when it is given up, is not served half, and goes on when it is done again', async () => {
    await using(from, ({ storage }) => storage.storeMany(Array.from({ length: MANY }, (_, i) => memory(`more ${i}`))));
    const giving = new AbortController();
    const onMigrated = (done: number) => done === 400 && giving.abort();
    await expect(migrateDatabase({ from, to }, { signal: giving.signal, onMigrated })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
    expect((await contentsOf(to)).lines.many?.length).toBeGreaterThan(256);
    const engine = { ...ENGINE_DEFAULTS, ...to, embedder: 'none', telemetry: { report: () => {} } };
    await expect(openEngine(engine)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await migrateDatabase({ from, to });
    expect(await contentsOf(to)).toEqual(await contentsOf(from));
    await (await openEngine(engine)).close();
  });

  it('refuses to end where the two are not the same', async () => {
    const opened = await openStorage({ ...to, workingMax: 100, recalls: false });
    let stored: Promise<unknown> | undefined;
    const onMigrated = () => {
      stored ??= opened.storage.store(memory('other', { namespace: 'other' }));
    };
    await expect(migrateDatabase({ from, to }, { onMigrated })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('other'),
    });
    await stored;
    await opened.storage.forget('many', 'a');
    await opened.storage.deleteNamespace('other');
    await opened.storage.store(memory('a', { content: 'another' }));
    await opened.storage.close();
    await expect(migrateDatabase({ from, to })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('refused'),
    });
  });
});
