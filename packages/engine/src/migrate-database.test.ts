import { copyFileSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ENGINE_DEFAULTS } from './engine-defaults.ts';
import { getContents, MANY, memory, newFile, using } from './migrate-database.fixture.ts';
import { migrateDatabase } from './migrate-database.ts';
import { openEngine } from './open-engine.ts';
import { openStorage } from './open-storage.ts';

describe('migrateDatabase', () => {
  let from: { dbPath: string };
  let to: { dbPath: string };
  const filled = newFile();
  beforeAll(() => using(filled, ({ storage }) => storage.storeMany([memory('a'), memory('b')])));
  beforeEach(() => {
    [from, to] = [newFile(), newFile()];
    copyFileSync(filled.dbPath, from.dbPath);
  });

  /** Returns the number of memories in the namespace `many` of a database. */
  function countMemories({ dbPath }: { dbPath: string }): unknown {
    const file = new Sqlite(dbPath, { readonly: true });
    try {
      return file.prepare("SELECT count(*) FROM memory WHERE namespace = 'many'").pluck().get();
    } finally {
      file.close();
    }
  }

  it('rejects a target that contains other data, and does not change the target', async () => {
    await using(to, ({ storage }) => storage.store(memory('mine')));
    await expect(migrateDatabase({ from, to })).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(countMemories(to)).toBe(1);
  });

  it('rejects a migrated target that was changed after its migration', async () => {
    await migrateDatabase({ from, to });
    await using(to, ({ storage }) => storage.forget('many', 'a'));
    await expect(migrateDatabase({ from, to })).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(countMemories(to)).toBe(1);
  });

  it('rejects a target that is the source or a copy of the source', async () => {
    copyFileSync(from.dbPath, to.dbPath);
    for (const same of [from, to]) {
      await expect(migrateDatabase({ from, to: same })).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringContaining('one database'),
      });
    }
  });

  it('migrateDatabase does not create a file if the source is missing', async () => {
    const missing = newFile();
    await expect(migrateDatabase({ from: missing, to })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(migrateDatabase({ from: missing, to })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('migrateDatabase can be aborted, blocks the engine until the migration is complete, and resumes at the next call', async () => {
    await using(from, ({ storage }) => storage.storeMany(Array.from({ length: MANY }, (_, i) => memory(`more ${i}`))));
    const controller = new AbortController();
    const onProgress = (done: number) => done === 400 && controller.abort();
    await expect(migrateDatabase({ from, to }, { signal: controller.signal, onProgress })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
    expect(countMemories(to)).toBeGreaterThanOrEqual(256);
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

  it('rejects if the databases differ at the end', async () => {
    const opened = await openStorage({ ...to, workingMax: 100, recalls: false });
    let stored: Promise<unknown> | undefined;
    const onProgress = () => {
      stored ??= opened.storage.store(memory('other', { namespace: 'other' }));
    };
    await expect(migrateDatabase({ from, to }, { onProgress })).rejects.toMatchObject({
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
