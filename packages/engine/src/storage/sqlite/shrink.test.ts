import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newMemory } from '../../ports/new-memory.fixture.ts';
import type { NewMemory } from '../../ports/storage-memories.ts';
import { openSqlite } from './open-sqlite.ts';

/** Memories that make a file of more MiB than two steps of shrinking give back. */
const GONE = 800;

let folder: string;
let path: string;
let reader: ChildProcess | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memoryd-'));
  path = join(folder, 'memory.db');
});
afterEach(async () => {
  reader?.kill('SIGKILL');
  await rm(folder, { recursive: true });
});

const open = async () => (await openSqlite({ path, workingMax: 100_000 })).storage;

/** Characters of a long text, nearly all of one word so that it takes no time to analyse. */
const LONG = 7000;

const mark = (i: number) => `<secret${String(i).padStart(6, '0')}>`;

function memory(i: number, sessionId: string, length = LONG): NewMemory {
  return newMemory({
    id: `${sessionId}-${i}`,
    content: `${sessionId === 'kept' ? 'something to keep' : mark(i)} ${'x'.repeat(length + (i % 97) * 10)} ${i}`,
    tags: [`tag ${i % 50}`],
    sessionId,
    metadata: { number: i },
    createdAt: i,
  });
}

const getSize = async () => {
  const names = await readdir(folder);
  const sizes = await Promise.all(
    names.filter((name) => !name.endsWith('-shm')).map((name) => stat(join(folder, name))),
  );
  return sizes.reduce((sum, { size }) => sum + size, 0);
};

const textsLeft = async () => {
  const names = await readdir(folder);
  const files = await Promise.all(names.map((name) => readFile(join(folder, name))));
  return files.some((file) => file.includes('<secret'));
};

/** Another process that reads all the time, in snapshots that end soon. */
async function startReader(): Promise<ChildProcess> {
  const script = `
    const Sqlite = require(${JSON.stringify(createRequire(import.meta.url).resolve('better-sqlite3'))});
    const connection = new Sqlite(process.argv[1], { readonly: true });
    setInterval(() => connection.prepare('SELECT count(*), sum(length(content)) FROM memory').get(), 20);
    console.log('reading');`;
  const child = spawn(process.execPath, ['-e', script, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return child;
}

describe('the room of forgotten memories', () => {
  it.each(['alone', 'with another process that reads'])(
    'comes back: %s',
    async (company) => {
      const storage = await open();
      const kept = Array.from({ length: 200 }, (_, i) => memory(i, 'kept', 0));
      for (let start = 0; start < GONE; start += 100) {
        await storage.storeMany(Array.from({ length: 100 }, (_, i) => memory(start + i, 'gone')));
        await storage.storeMany(kept.slice(start / 4, start / 4 + 25));
      }
      const full = await getSize();
      reader = company === 'alone' ? undefined : await startReader();
      expect(await storage.forgetMany('default', { sessionId: 'gone' })).toMatchObject({ count: GONE });
      // Hardly any text is kept; the rest is what an empty database takes.
      await expect.poll(getSize, { timeout: 60_000 }).toBeLessThan(full / 8);
      await expect.poll(textsLeft, { timeout: 60_000 }).toBe(false);
      expect(await storage.integrity()).toEqual([]);
      expect((await storage.memory('default', 'kept-199', 1))?.content).toBe(kept[199]?.content);
      // Files beside the database go with whoever closes it last.
      if (reader?.kill('SIGKILL')) await once(reader, 'exit');
      await storage.close();
      expect(await readdir(folder)).toEqual(['memory.db']);
      expect(await textsLeft()).toBe(false);
      const check = new Sqlite(path);
      expect(check.pragma('integrity_check', { simple: true })).toBe('ok');
      check.close();
    },
    120_000,
  );

  it('stays where little was forgotten, since it will be filled again', async () => {
    const storage = await open();
    await storage.storeMany(Array.from({ length: 1000 }, (_, i) => memory(i, 'kept')));
    await storage.storeMany(Array.from({ length: 200 }, (_, i) => memory(i, 'gone')));
    await storage.close();
    const full = await getSize();
    const reopened = await open();
    await reopened.forgetMany('default', { sessionId: 'gone' });
    await reopened.close();
    expect(await getSize()).toBeGreaterThanOrEqual(full);
  });

  it('comes back after a restart where a crash came between', async () => {
    const storage = await open();
    await storage.storeMany(Array.from({ length: 600 }, (_, i) => memory(i, 'gone')));
    const full = await getSize();
    // Forgotten, and the process ended at once: shrinking had no time.
    await storage.forgetMany('default', { sessionId: 'gone' });
    await storage.close();
    const restarted = await open();
    await expect.poll(getSize).toBeLessThan(full / 6);
    await restarted.close();
  });
});
