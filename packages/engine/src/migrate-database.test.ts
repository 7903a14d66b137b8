import { copyFileSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ENGINE_DEFAULTS } from './engine-defaults.ts';
import { getContents, MANY, memory, newFile, using } from './migrate-database.fixture.ts';
import { migrateDatabase } from './migrate-database.ts';
import { openEngine } from './open-engine.ts';
import { openStorage } from './open-storage.ts';

describe('a migration', () => {
  let from: { dbPath: string };
  let to: { dbPath: string };
  const filled = newFile();
  beforeAll(() => using(filled, ({ storage }) => storage.storeMany([memory('a'), memory('b')])));
  beforeEach(() => {
    [from, to] = [newFile(), newFile()];
    copyFileSync(filled.dbPath, from.dbPath);
  });

  /** Returns how many memories of the namespace `many` a database has. */
  function memoriesIn({ dbPath }: { dbPath: string }): unknown {
    const file = new Sqlite(dbPath, { readonly: true });
    try {
      return file.prepare("SELECT count(*) FROM memory WHERE namespace = 'many'").pluck().get();
    } finally {
      file.close();
    }
  }

  it('leaves a database alone that keeps anything else', async () => {
    await using(to, ({ storage }) => storage.store(memory('mine')));
    await expect(migrateDatabase({ from, to })).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(memoriesIn(to)).toBe(1);
  });

  it('is not done again into what has been used since', async () => {
    await migrateDatabase({ from, to });
    await using(to, ({ storage }) => storage.forget('many', 'a'));
    await expect(migrateDatabase({ from, to })).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(memoriesIn(to)).toBe(1);
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
    expect(memoriesIn(to)).toBeGreaterThanOrEqual(256);
    const engine = {
      ...ENGINE_DEFAULTS,
      ...to,
      embedder: 'none',
      consolidationIntervalSeconds: 0,
      telemetry: { report: () => {} },
    };
    await expect(openEngine(engine)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await migrateDatabase({ from, to });
    expect(await getContents(to)).toEqual(await getContents(from));
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
