import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type DatabaseOptions, migrateDatabase } from '@memoryd/engine';
import { type DatabaseServer, TEST_CONNECTIONS, usePostgres } from '@memoryd/postgres/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { getContents, MANY, memory, newFile, using } from './migrate-database.fixture.ts';
import { fillFile } from './schema-files/filled-file.fixture.ts';

/** Migrates in a process that is killed after a number of lines was written or checked. */
async function migrateKilled(from: DatabaseOptions, to: DatabaseOptions, after: number): Promise<void> {
  const script = `
    import { migrateDatabase } from '@memoryd/engine';
    const onProgress = (done) => done === ${after} && process.kill(process.pid, 'SIGKILL');
    await migrateDatabase(${JSON.stringify({ from, to })}, { onProgress });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' });
  const [, signal] = await once(child, 'exit');
  expect(signal).toBe('SIGKILL');
}

describe('a migration between a file and PostgreSQL', () => {
  const filled = newFile();
  let before: Awaited<ReturnType<typeof getContents>>;
  let server: DatabaseServer;
  let url: string;
  let postgres: DatabaseOptions;

  beforeAll(async () => {
    server = await usePostgres();
    await fillFile(filled.dbPath);
    await using(filled, async ({ storage, keys }) => {
      await storage.storeMany(Array.from({ length: MANY }, (_, i) => memory(`many ${i}`)));
      const owner = { userId: 'ada', agentId: '' };
      for (const [id, contentKey] of [
        ['first', 'k'],
        ['other', undefined],
      ] as const) {
        const begin = { id, ...owner, format: 'chatgpt' as const, name: 'ünï.zip', startedAt: 5 };
        await storage.beginImport('many', { ...begin, ...(contentKey !== undefined && { contentKey }) });
        const texts = Array.from({ length: 5 }, (_, i) =>
          memory(`${id} ${i}`, { ...owner, externalId: `${id} ${i}`, imported: { importId: id, digest: `d${i}` } }),
        );
        await storage.storeMany(texts);
      }
      const changed = { ...owner, externalId: 'first 1', given: ['content'] as const };
      await storage.storeMany([memory('changed', { ...changed, imported: { importId: 'other', digest: 'e' } })]);
      await storage.endImport('many', 'first', 6);
      await storage.update({ namespace: 'many', id: 'first 0', at: 7, content: 'changed since' });
      await storage.setQuota('many', { memories: MANY - 1, bytes: null });
      await storage.setQuota('nothing', { memories: 5, bytes: 0 });
      for (const userId of ['', 'ada']) await storage.changeHookSettings('many', userId, { ignored_folders: ['/ünï'] });
      const key = {
        namespace: 'team b',
        userId: '',
        agentId: '',
        scope: 'write' as const,
        name: '',
        digest: 'ab',
        createdAt: 7,
        expiresAt: null,
        lastUsedAt: null,
        revokedAt: null,
      };
      for (const id of ['z', 'a']) await keys.add({ ...key, id });
      await keys.revoke('z', 9);
    });
    before = await getContents(filled);
  }, 120_000);
  beforeEach(async () => {
    url = await server.create();
    postgres = { databaseUrl: url, databaseConnections: TEST_CONNECTIONS };
  });
  afterEach(() => server.drop(url));
  afterAll(() => server.close());

  it('copies all data to PostgreSQL and back without differences', async () => {
    const there = await migrateDatabase({ from: filled, to: postgres });
    expect(there.keys).toBe(2);
    expect(there.namespaces.map(({ name, lines }) => [name, lines])).toEqual(
      Object.entries(before.lines).map(([name, lines]) => [name, lines.length - 1]),
    );
    expect(await getContents(postgres)).toEqual(before);
    const back = newFile();
    expect(await migrateDatabase({ from: postgres, to: back })).toEqual(there);
    expect(await getContents(back)).toEqual(before);
    expect(before.imports).toHaveLength(12);
    await using(back, async ({ storage }) => {
      expect(await storage.undoImport('many', 'first', { of: {}, at: 9 })).toMatchObject({ forgotten: 3, kept: 2 });
      expect(await storage.undoImport('many', 'other', { of: {}, at: 9 })).toMatchObject({ forgotten: 6, kept: 0 });
    });
  }, 60_000);

  it('resumes in either direction after its process was killed', async () => {
    const count = (database: DatabaseOptions) =>
      using(database, async ({ storage }) => (await storage.totals(Date.now())).working_count);
    await migrateKilled(filled, postgres, 400);
    expect(await count(postgres)).toBeGreaterThan(256);
    expect(await count(postgres)).toBeLessThan(MANY);
    await migrateDatabase({ from: filled, to: postgres });
    expect(await getContents(postgres)).toEqual(before);
    const back = newFile();
    await migrateKilled(postgres, back, 400);
    expect(await count(back)).toBeGreaterThan(256);
    expect(await count(back)).toBeLessThan(MANY);
    await migrateDatabase({ from: postgres, to: back });
    expect(await getContents(back)).toEqual(before);
  }, 120_000);
});
