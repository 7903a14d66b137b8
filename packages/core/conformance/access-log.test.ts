import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlite } from '@memoryd/sqlite';
import { newMemory } from '@memoryd/suites';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AccessLog } from '../src/operations/access-log.ts';
import type { TelemetryEvent } from '../src/ports/runtime.ts';
import type { Storage } from '../src/ports/storage.ts';

/** Maximum pending memories. */
const LIMIT = 10_000;

let folder: string;
let storage: Storage;
let other: Sqlite.Database;
let reported: TelemetryEvent[];
let accesses: AccessLog;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memoryd-'));
  const path = join(folder, 'memory.db');
  storage = (await openSqlite({ path, workingMax: 1000 })).storage;
  for (const id of ['one', 'two', 'three']) await storage.store(newMemory({ id }));
  other = new Sqlite(path);
  reported = [];
  accesses = new AccessLog(storage, { report: (event) => reported.push(event) });
});
afterEach(async () => {
  other.close();
  await storage.close();
  await rm(folder, { recursive: true });
});

/** Ordinals of memories that do not exist; their accesses are not written. */
const getMissing = (count: number, from = 1000) => Array.from({ length: count }, (_, i) => from + i);
const note = (ordinals: number[]) => accesses.note('default', ordinals, 7);
const uses = () => other.prepare('SELECT ordinal, count FROM memory_access ORDER BY ordinal').raw().all();

describe('AccessLog', () => {
  it('adds the number of new accesses to the access count of each memory', async () => {
    note([1, 2]);
    note([2]);
    await accesses.flush();
    note([2]);
    await accesses.flush();
    expect(uses()).toEqual([
      [1, 1],
      [2, 3],
    ]);
    expect(reported).toEqual([]);
  });

  it('drops the oldest accesses while the database is locked, and reports their number', async () => {
    other.exec('BEGIN IMMEDIATE');
    note([1, ...getMissing(LIMIT - 1)]);
    note([2, ...getMissing(LIMIT - 2), 3]);
    note([3]);
    note(getMissing(LIMIT - 1, 2 * LIMIT));
    other.exec('COMMIT');
    await accesses.flush();
    expect(uses()).toEqual([
      [1, 1],
      [3, 2],
    ]);
    expect(reported).toMatchObject([{ event: 'accesses_lost', facts: { accesses: LIMIT - 1 } }]);
  });

  it('writes in batches, so that other writes can run between two batches', async () => {
    const ended: string[] = [];
    note(getMissing(LIMIT - 1));
    const flushed = accesses.flush().then(() => ended.push('flushed'));
    const stored = storage.store(newMemory({ id: 'four' })).then(() => ended.push('stored'));
    await Promise.all([flushed, stored]);
    expect(ended).toEqual(['stored', 'flushed']);
  });

  it('reports lost accesses if a write fails', async () => {
    note([1, 2]);
    note([2]);
    other.exec("CREATE TRIGGER nothing_more BEFORE INSERT ON memory_access BEGIN SELECT RAISE(ABORT, 'no more'); END");
    await accesses.flush();
    expect(reported).toMatchObject([{ event: 'accesses_lost', facts: { accesses: 3 }, error: expect.any(Error) }]);
  });
});
