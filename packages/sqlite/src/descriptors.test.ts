import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { fstatSync, readdirSync, readFileSync, readSync, statSync, symlinkSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { OpenDatabase } from '@memoryd/core';
import { newMemory } from '@memoryd/suites';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connect, openRaw } from './descriptors.ts';
import { openSqlite } from './open.ts';
import { backUpFile, restoreFile } from './restore-file.ts';
import { MIGRATIONS } from './schema.ts';
import { verifyFile } from './verify-file.ts';

const resolve = createRequire(import.meta.url).resolve;

let folder: string;
let path: string;
let database: OpenDatabase;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memoryd-'));
  path = join(folder, 'memory.db');
  database = await open();
  await database.storage.store(newMemory({ id: 'first' }));
});
afterEach(async () => {
  await database.storage.close();
  await rm(folder, { recursive: true });
});

const open = (file = path) => openSqlite({ path: file, workingMax: 1000 });

/** Stores and forgets memories until a forget was not blocked by a reader. A forget opens the file without SQLite. */
async function forget({ storage }: OpenDatabase): Promise<void> {
  const storeAndForget = async () => {
    await storage.store(newMemory({ id: 'brief' }));
    return storage.forget('default', 'brief');
  };
  await expect.poll(storeAndForget).toMatchObject({ purged: true });
}

async function forgetAndClose(file = path): Promise<void> {
  const other = await open(file);
  await forget(other);
  await other.storage.close();
}

/**
 * Opens the file in another process with another SQLite library, counts the memories and closes the file. If this
 * process has lost its locks, the other process deletes the log.
 */
function countInOtherProcess(): number {
  const program = `
    const { DatabaseSync } = require('node:sqlite');
    const database = new DatabaseSync(process.argv[1]);
    console.log(database.prepare('SELECT count(*) AS count FROM memory').get().count);
    database.close();`;
  return Number(execFileSync(process.execPath, ['--no-warnings', '-e', program, path], { encoding: 'utf8' }));
}

/** Returns the locks of this process on the database file. Only Linux lists locks, other systems return none. */
function getLocks(): Set<string> {
  if (process.platform !== 'linux') return new Set();
  const lines = readFileSync('/proc/locks', 'utf8').split('\n');
  const isOwn = (line: string) => line.includes(` ${process.pid} `) && line.includes(`:${statSync(path).ino} `);
  // The number at the start of a line is the position in the list. A list that changes may have a line twice.
  return new Set(lines.filter(isOwn).map((line) => line.replace(/^\d+: /, '')));
}

/** Returns the descriptors that this process has of the database file. */
function getDescriptors(): number[] {
  const isOfFile = (descriptor: number) => {
    try {
      return fstatSync(descriptor).ino === statSync(path).ino;
    } catch {
      return false;
    }
  };
  return readdirSync('/dev/fd').map(Number).filter(isOfFile);
}

/** Empties the log, as after a purge of a server that has no other work. */
function emptyLog(): void {
  const connection = new Sqlite(path);
  connection.pragma('wal_checkpoint(TRUNCATE)');
  connection.close();
  expect(statSync(`${path}-wal`).size).toBe(0);
}

/** Runs engines in another thread, one after the other. Each stores and forgets, and then runs the code. */
async function runInThread(end: string, engines = 1): Promise<void> {
  const program = `
    const { workerData: { engine: file, dbPath } } = require('node:worker_threads');
    import(file).then(async ({ openEngine }) => {
      for (let i = 0; i < ${engines}; i++) {
        const engine = await openEngine({ dbPath, embedder: 'none', consolidationIntervalSeconds: 0 });
        const memories = engine.namespace('default');
        while ((await memories.forget((await memories.store({ content: 'brief' })).id)).purge === 'pending');
        ${end};
      }
    });`;
  const worker = new Worker(program, { eval: true, workerData: { engine: resolve('@memoryd/engine'), dbPath: path } });
  expect(await once(worker, 'exit')).toEqual([0]);
}

describe('the locks of an open database', () => {
  const acts: [act: string, run: () => Promise<unknown>][] = [
    ['a second engine has forgotten and closed', () => forgetAndClose()],
    [
      'a second engine has forgotten and closed the file through a symbolic link',
      async () => {
        symlinkSync(path, join(folder, 'link.db'));
        await forgetAndClose(join(folder, 'link.db'));
      },
    ],
    ['an engine in another thread has forgotten and closed', () => runInThread('await engine.close()')],
    ['an engine in another thread has forgotten and was terminated', () => runInThread('process.exit(0)')],
    [
      'a second engine could not open the file',
      async () => {
        const connection = new Sqlite(path);
        connection.pragma(`user_version = ${MIGRATIONS.length + 1}`);
        await expect(open()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
        connection.pragma(`user_version = ${MIGRATIONS.length}`);
        connection.close();
      },
    ],
    ['a verification', async () => verifyFile(path)],
    ['a backup', () => backUpFile(path, join(folder, 'copy.db'))],
    [
      'an export',
      async () => {
        const { records, discard } = await database.storage.exportRecords('default');
        for await (const _record of records);
        await discard();
      },
    ],
    [
      'a rejected restore from the open file',
      async () => {
        emptyLog();
        await expect(restoreFile(path, join(folder, 'new.db'))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      },
    ],
    [
      'a rejected restore to the open file',
      async () => {
        await backUpFile(path, join(folder, 'copy.db'));
        await expect(restoreFile(join(folder, 'copy.db'), path)).rejects.toMatchObject({ code: 'CONFLICT' });
      },
    ],
  ];
  it.each(acts)(
    'the locks of an open database are kept after %s, so that another process leaves the log in place',
    async (_act, run) => {
      const before = getLocks();
      await run();
      expect(getLocks()).toEqual(before);
      const count = countInOtherProcess();
      await database.storage.store(newMemory({ id: 'second' }));
      expect(countInOtherProcess()).toBe(count + 1);
    },
  );
});

describe.skipIf(process.platform === 'win32')('the descriptors of the file', () => {
  it('the descriptors of the file do not increase with each engine that forgets and closes while another engine is open', async () => {
    await forgetAndClose();
    const before = getDescriptors();
    for (let i = 0; i < 3; i++) await forgetAndClose();
    expect(getDescriptors()).toEqual(before);
  });

  it('the descriptors of the file increase by at most one for each other thread with such engines', async () => {
    await runInThread('await engine.close()');
    const before = getDescriptors();
    await runInThread('await engine.close()', 3);
    expect(getDescriptors().length).toBeLessThanOrEqual(before.length + 1);
  });

  it.each(['one after the other', 'at the same time'])(
    'the descriptors of the file are all closed after the engines have closed %s',
    async (how) => {
      const others = [database, await open()];
      for (const each of others) await forget(each);
      if (how === 'at the same time') await Promise.all(others.map(({ storage }) => storage.close()));
      else for (const { storage } of others) await storage.close();
      expect(getDescriptors()).toEqual([]);
      database = await open();
    },
  );
});

describe('openRaw', () => {
  it('returns a descriptor of the file that no connection uses, even if SQLite reuses descriptors', () => {
    // SQLite leaves the descriptors of closed connections open while the process has a lock on the file.
    const connections = Array.from({ length: 3 }, () => new Sqlite(path));
    for (const connection of connections) connection.close();
    const before = getDescriptors();
    const raws = [false, false, true].map((readonly) => openRaw(path, { readonly }));
    const descriptors = raws.map(({ descriptor }) => descriptor);
    expect(getDescriptors()).toEqual(expect.arrayContaining(descriptors));
    expect([...before, ...descriptors].length).toBe(new Set([...before, ...descriptors]).size);
    const byte = Buffer.alloc(1);
    for (const descriptor of descriptors) expect(readSync(descriptor, byte, 0, 1, 0)).toBe(1);
    for (const descriptor of descriptors.slice(0, 2)) expect(writeSync(descriptor, byte, 0, 1, 0)).toBe(1);
    for (const raw of raws) raw.close();
    expect(getLocks().size).toBe(process.platform === 'linux' ? 1 : 0);
  });
});

describe.skipIf(process.platform === 'win32')('connect', () => {
  it('waits while another thread has the mutex of the process', async () => {
    const isReleased = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(
      `const { parentPort, workerData: { file, isReleased } } = require('node:worker_threads');
       const { closeSync, openSync } = require('node:fs');
       const mutex = openSync(file, 'r');
       setTimeout(() => { isReleased[0] = 1; closeSync(mutex); }, 100);
       parentPort.postMessage('has the mutex');`,
      { eval: true, workerData: { file: resolve('better-sqlite3'), isReleased } },
    );
    await once(worker, 'message');
    connect(join(folder, 'other.db'), {}).close();
    expect(isReleased[0]).toBe(1);
    await once(worker, 'exit');
  });
});
