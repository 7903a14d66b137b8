import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NewMemory } from '@memoryd/core';
import { newMemory } from '@memoryd/suites';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqlite } from './open.ts';

/** Number of memories that need more file space than two shrink steps return. */
const FORGOTTEN = 800;

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

/** Length of a long text in characters. It is almost a single word, so that its analysis is fast. */
const LONG_TEXT_CHARS = 7000;

const mark = (i: number) => `<secret${String(i).padStart(6, '0')}>`;

function memory(i: number, sessionId: string, length = LONG_TEXT_CHARS): NewMemory {
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

/** Starts another process that reads continuously in short snapshots. */
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

describe('the disk space of forgotten memories', () => {
  it.each(['single process', 'with a reading process'])(
    'the disk space of forgotten memories is released to the file system (%s)',
    async (company) => {
      const storage = await open();
      const kept = Array.from({ length: 200 }, (_, i) => memory(i, 'kept', 0));
      for (let start = 0; start < FORGOTTEN; start += 100) {
        await storage.storeMany(Array.from({ length: 100 }, (_, i) => memory(start + i, 'gone')));
        await storage.storeMany(kept.slice(start / 4, start / 4 + 25));
      }
      const full = await getSize();
      reader = company === 'single process' ? undefined : await startReader();
      expect(await storage.forgetMany('default', { sessionId: 'gone' })).toMatchObject({ count: FORGOTTEN });
      // Little text remains, so the size is close to that of an empty database.
      await expect.poll(getSize, { timeout: 60_000 }).toBeLessThan(full / 8);
      await expect.poll(textsLeft, { timeout: 60_000 }).toBe(false);
      expect(await storage.integrity()).toEqual([]);
      expect((await storage.memory('default', 'kept-199', 1))?.content).toBe(kept[199]?.content);
      // The last process that closes the database removes the files beside it.
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

  it('the disk space of forgotten memories is reserved for later memories if only a few memories were forgotten', async () => {
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

  it('the disk space of forgotten memories is released after a restart if shrinking was interrupted', async () => {
    const storage = await open();
    await storage.storeMany(Array.from({ length: 600 }, (_, i) => memory(i, 'gone')));
    const full = await getSize();
    // The storage closes right after forgetting, so shrinking has no time.
    await storage.forgetMany('default', { sessionId: 'gone' });
    await storage.close();
    const restarted = await open();
    await expect.poll(getSize).toBeLessThan(full / 6);
    await restarted.close();
  });
});
