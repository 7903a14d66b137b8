import {
  chmod,
  copyFile,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NewMemory, OpenDatabase, Storage } from '@memoryd/core';
import type { Lease, RunRef } from '@memoryd/core/ports';
import { CONSOLIDATION_LEASE } from '@memoryd/core/ports';
import { newMemory } from '@memoryd/suites';
import Sqlite from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openSqlite } from './open.ts';
import { restoreFile } from './restore-file.ts';
import { MIGRATIONS } from './schema.ts';

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memoryd-'));
  path = join(folder, 'memory.db');
});
afterEach(() => rm(folder, { recursive: true }));

const open = async (file = path) => (await openSqlite({ path: file, workingMax: 1000 })).storage;

const memory = (id: string, content: string, fields: Partial<NewMemory> = {}) => newMemory({ id, content, ...fields });

/** Starts a consolidation run. */
async function begin({ storage, lease }: { storage: Storage; lease: Lease }, id: string): Promise<RunRef> {
  const fence = (await lease.acquire(CONSOLIDATION_LEASE, 'a test', 1, 1000)) ?? 0;
  return (await storage.beginRun('default', { id, startedAt: 1, promotedUntil: 1, fence })).ref;
}

/** Opens a connection of another program whose snapshot needs the log. */
function openBlockingReader(file = path): Sqlite.Database {
  const reader = new Sqlite(file, { readonly: true });
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM memory').get();
  return reader;
}

async function bytesOnDisk(place = folder): Promise<Buffer> {
  const names = await readdir(place);
  return Buffer.concat(await Promise.all(names.map((name) => readFile(join(place, name)))));
}

/** Memories of a session with distinct texts, which can be searched for in the bytes of a file. */
const many = (count: number) =>
  Array.from({ length: count }, (_, i) => memory(`m${i}`, `xylograph ${i} text`, { sessionId: 's' }));

/** Expects `count` of the memories to be forgotten, and their texts to be purged from the file. */
async function expectGone(storage: Storage, count: number): Promise<void> {
  const found = await Promise.all(many(250).map(({ id }) => storage.memory('default', id, 2)));
  const gone = many(250).filter((_, i) => found[i] === undefined);
  expect(gone).toHaveLength(count);
  const left = async () => {
    const bytes = await bytesOnDisk();
    return gone.filter(({ content }) => bytes.includes(content)).length;
  };
  await expect.poll(left).toBe(0);
}

describe('the file of an open database', () => {
  let place: string;
  let file: string;
  let database: OpenDatabase;

  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), 'memoryd-'));
    file = join(place, 'memory.db');
    database = await openSqlite({ path: file, workingMax: 1000 });
  });
  afterAll(async () => {
    await database.storage.close();
    await rm(place, { recursive: true });
  });

  it('contains no comments of the source code', () => {
    const reader = new Sqlite(file, { readonly: true });
    const stored = reader.prepare('SELECT sql FROM sqlite_master WHERE sql IS NOT NULL').pluck().all() as string[];
    reader.close();
    expect(stored.length).toBeGreaterThan(20);
    expect(stored.filter((text) => /--|\/\*/.test(text))).toEqual([]);
  });

  it('contains no text, history, tags, metadata or terms of a forgotten memory', async () => {
    const { storage } = database;
    const words = ['xylograph', 'quincunx', 'zugzwang', 'borborygmus', 'syzygy'];
    await storage.storeMany(Array.from({ length: 300 }, (_, i) => memory(`ordinary-${i}`, `ordinary text ${i}`)));
    await storage.store(
      memory('secret', `the first ${words[0]} text`, { tags: [words[1] as string], metadata: { note: words[2] } }),
    );
    await storage.update({ namespace: 'default', id: 'secret', at: 2, content: `then ${words[3]}`.repeat(500) });
    await storage.update({ namespace: 'default', id: 'secret', at: 3, content: `at last ${words[4]}` });
    const before = await bytesOnDisk(place);
    for (const word of words) expect(before.includes(word), word).toBe(true);
    expect(await storage.forget('default', 'secret')).toMatchObject({ purged: true });
    const after = await bytesOnDisk(place);
    for (const word of words) expect(after.includes(word), word).toBe(false);
  });

  it('contains no texts that a bulk forget has deleted', async () => {
    const { storage } = database;
    await storage.storeMany(many(50));
    expect(await storage.forgetMany('default', { sessionId: 's' })).toEqual({
      count: 50,
      purged: true,
    });
    expect((await bytesOnDisk(place)).includes('xylograph')).toBe(false);
  });

  it('contains no texts that were deleted from the archive', async () => {
    const { storage } = database;
    await storage.store(memory('brief', 'xylograph', { expiresAt: 2 }));
    const run = await begin(database, 'a run that clears the archive');
    await storage.evictExpired(run, 2, 10);
    expect((await bytesOnDisk(place)).includes('xylograph')).toBe(true);
    expect(await storage.clearArchive(run, 3, 10)).toMatchObject({ count: 1 });
    await storage.endRun(run, 3);
    await expect.poll(async () => (await bytesOnDisk(place)).includes('xylograph')).toBe(false);
  });

  it('contains no data of a forgotten memory in run records', async () => {
    const { storage } = database;
    await storage.store(memory('survivor', 'same', { tags: ['xylograph'] }));
    await storage.store(memory('duplicate', 'same', { tags: ['quincunx'] }));
    const run = await begin(database, 'a run that merges');
    expect(await storage.mergeDuplicates(run, 1, 1000)).toMatchObject({ count: 1 });
    await storage.endRun(run, 1);
    await storage.forget('default', 'survivor');
    const bytes = await bytesOnDisk(place);
    for (const word of ['xylograph', 'quincunx']) expect(bytes.includes(word), word).toBe(false);
  });

  it('contains no forgotten texts after rows have grown, shrunk or moved to other pages', async () => {
    const { storage } = database;
    let seed = 7;
    const random = () => {
      seed = (seed * 16807) % 2147483647;
      return seed / 2147483647;
    };
    const mark = (i: number, kind: string) => `<${kind}${String(i).padStart(6, '0')}>`;
    const text = (i: number, most: number) => mark(i, 'C').repeat(1 + Math.floor(random() * most));
    const count = 400;
    const order = Array.from({ length: count }, (_, i) => (i * 7919) % count);
    await Promise.all(
      order.map((i) =>
        storage.store(memory(`m${i}`, text(i, 40), { tags: [mark(i, 'T')], metadata: { k: mark(i, 'M') } })),
      ),
    );
    await Promise.all(
      order.map((_, at) => {
        const i = Math.floor(random() * count);
        return storage.update({ namespace: 'default', id: `m${i}`, at, content: `${text(i, 60)}${at}` });
      }),
    );
    const forgotten = order.filter(() => random() < 0.5);
    const outcomes = await Promise.all(forgotten.map((i) => storage.forget('default', `m${i}`)));
    expect(outcomes.every((outcome) => outcome.outcome === 'forgotten' && outcome.purged)).toBe(true);
    const bytes = (await bytesOnDisk(place)).toString('latin1');
    const left = forgotten.filter((i) => ['C', 'T', 'M'].some((kind) => bytes.includes(mark(i, kind))));
    expect(left).toEqual([]);
    const check = new Sqlite(file, { readonly: true });
    expect(check.pragma('integrity_check', { simple: true })).toBe('ok');
    check.close();
  });

  it('the file of an open database is purged later if a reader blocks the write-ahead log, and the response reports the pending purge', async () => {
    const { storage } = database;
    await storage.store(memory('secret', 'xylograph'));
    const reader = openBlockingReader(file);
    expect(await storage.forget('default', 'secret')).toMatchObject({ purged: false });
    expect(await storage.memory('default', 'secret', 2)).toBeUndefined();
    reader.exec('COMMIT');
    reader.close();
    await expect.poll(async () => (await bytesOnDisk(place)).includes('xylograph')).toBe(false);
  });

  it('contains no data of a deleted namespace after the response, even if a reader blocked the write-ahead log', async () => {
    const { storage } = database;
    await storage.store(memory('one', 'xylograph', { namespace: 'private matters' }));
    const reader = openBlockingReader(file);
    const release = setTimeout(() => reader.close(), 500);
    expect(await storage.deleteNamespace('private matters')).toEqual({ count: 1, purged: true });
    for (const gone of ['xylograph', 'private matters']) expect((await bytesOnDisk(place)).includes(gone)).toBe(false);
    clearTimeout(release);
  });

  it('the file of an open database is read in the order of the calls', async () => {
    const { storage } = database;
    const finished: number[] = [];
    const read = (i: number) => storage.memory('default', `m${i}`, 2).then(() => finished.push(i));
    // Two waves. The second starts while the first is running.
    const first = Array.from({ length: 20 }, (_, i) => read(i));
    await first[3];
    await Promise.all([...first, ...Array.from({ length: 20 }, (_, i) => read(20 + i))]);
    expect(finished).toEqual(Array.from({ length: 40 }, (_, i) => i));
  });
});

describe('the database file', () => {
  it('the database file is created with its folders and owner-only permissions, and is the only file after a clean shutdown', async () => {
    const nested = join(folder, 'a', 'b', 'memory.db');
    const storage = await open(nested);
    await storage.store(memory('one', 'text'));
    for (const name of await readdir(join(folder, 'a', 'b'))) {
      expect((await stat(join(folder, 'a', 'b', name))).mode & 0o777).toBe(0o600);
    }
    await storage.close();
    expect(await readdir(join(folder, 'a', 'b'))).toEqual(['memory.db']);
  });

  it('contains no texts that a bulk forget deleted before another writer locked the database', async () => {
    const storage = await open();
    await storage.storeMany(many(250));
    const writer = new Sqlite(path);
    const notified: unknown[] = [];
    const forgetting = storage.forgetMany('default', { sessionId: 's' }, (gone) => {
      notified.push(gone);
      writer.exec('BEGIN IMMEDIATE');
    });
    await expect(forgetting).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(notified).toMatchObject([{ length: 100 }]);
    writer.exec('COMMIT');
    await expectGone(storage, 100);
    writer.close();
    await storage.close();
  });

  it('contains no texts that a namespace deletion deleted before the deletion failed', async () => {
    const storage = await open();
    await storage.storeMany(many(250));
    const other = new Sqlite(path);
    other.exec(`
      CREATE TRIGGER failing BEFORE DELETE ON memory WHEN (SELECT count(*) FROM memory) <= 150
      BEGIN SELECT RAISE(ABORT, 'no further'); END`);
    other.close();
    await expect(storage.deleteNamespace('default')).rejects.toThrow();
    await expectGone(storage, 100);
    await storage.close();
  });

  it('the database file is purged at the next start if a crash interrupted the purge', async () => {
    const storage = await open();
    await storage.store(memory('secret', 'xylograph'));
    const reader = openBlockingReader();
    expect(await storage.forget('default', 'secret')).toMatchObject({ purged: false });
    // Copies the file and its log, as a killed process leaves them.
    const crashed = join(folder, 'crashed');
    await mkdir(crashed);
    for (const name of ['memory.db', 'memory.db-wal']) await copyFile(join(folder, name), join(crashed, name));
    reader.close();
    await storage.close();
    const left = async () => {
      const names = await readdir(crashed);
      const files = await Promise.all(names.map((name) => readFile(join(crashed, name))));
      return files.some((file) => file.includes('xylograph'));
    };
    expect(await left()).toBe(true);
    const restarted = await open(join(crashed, 'memory.db'));
    await expect.poll(left).toBe(false);
    await restarted.close();
  });

  it('the database file is opened through a symbolic link after a crash, with its write-ahead log', async () => {
    const storage = await open();
    await storage.storeMany(many(50));
    const crashed = join(folder, 'crashed');
    await mkdir(crashed);
    for (const name of ['memory.db', 'memory.db-wal']) await copyFile(join(folder, name), join(crashed, name));
    await storage.close();
    await symlink(join(crashed, 'memory.db'), join(folder, 'link.db'));
    const restarted = await open(join(folder, 'link.db'));
    expect(await restarted.memory('default', 'm49', 2)).toBeDefined();
    await restarted.close();
  });

  it('the database file is rejected if it has several hard links, because each name has its own write-ahead log', async () => {
    const storage = await open();
    await storage.store(memory('first', 'stored'));
    await link(path, join(folder, 'other.db'));
    const rejected = { code: 'UNAVAILABLE', message: expect.stringContaining('2 names') };
    await expect(open(join(folder, 'other.db'))).rejects.toMatchObject(rejected);
    expect((await readdir(folder)).sort()).toEqual(['memory.db', 'memory.db-shm', 'memory.db-wal', 'other.db']);
    await storage.store(memory('second', 'stored'));
    await storage.close();
    await expect(open()).rejects.toMatchObject(rejected);
    await rm(join(folder, 'other.db'));
    const restarted = await open();
    for (const id of ['first', 'second']) expect(await restarted.memory('default', id, 2)).toBeDefined();
    await restarted.close();
  });

  it('the database file is searched including the writes of other connections', async () => {
    const [one, other] = [await open(), await open()];
    await one.useModel('model');
    const stored = await one.store(memory('shared', 'seen by both'));
    if (stored.outcome !== 'stored') throw new Error(stored.outcome);
    const vector = new Float32Array(64).fill(1 / 8);
    const search = async () => {
      const signals = await other.search({
        namespace: 'default',
        text: '',
        vector: { modelId: 'model', values: vector },
        filter: {},
        now: 2,
        poolSize: 10,
        tailSize: 0,
      });
      return signals.candidateCount;
    };
    expect(await search()).toBe(0);
    await one.putVectors('model', [{ ordinal: stored.ordinal, revision: 1, vectors: [vector] }]);
    expect(await search()).toBe(1);
    await one.forget('default', 'shared');
    expect(await search()).toBe(0);
    await Promise.all([one.close(), other.close()]);
  });

  it('rebuilds the words that lists find if they come from an older analysis', async () => {
    const before = await open();
    await before.store(memory('m', 'a heron'));
    await before.close();
    const file = new Sqlite(path);
    file.exec(`
      INSERT INTO memory_words SELECT -1, namespace, '' FROM memory_words;
      DELETE FROM memory_words WHERE ordinal > 0;
      UPDATE memory_words SET ordinal = (SELECT ordinal FROM memory);
      UPDATE property SET value = '1002' WHERE name = 'entries_made_by'`);
    file.close();
    const after = await open();
    const words = { whole: [], beginnings: ['her'] };
    const page = await after.memories('default', { words }, { limit: 10, maxBytes: 1000 }, Date.now());
    expect(page.items.map(({ id }) => id)).toEqual(['m']);
    expect(await after.integrity()).toEqual([]);
    await after.close();
  });

  it('keeps its vectors if index entries of an older layout are rebuilt', async () => {
    const vector = new Float32Array(64).fill(1 / 8);
    const before = await open();
    await before.useModel('model');
    const stored = await before.store(memory('m', 'a heron', { importance: 0.7 }));
    if (stored.outcome !== 'stored') throw new Error(stored.outcome);
    await before.putVectors('model', [{ ordinal: stored.ordinal, revision: 1, vectors: [vector] }]);
    await before.close();
    const file = new Sqlite(path);
    const [made, entry] = [
      "SELECT value FROM property WHERE name = 'entries_made_by'",
      'SELECT entry FROM recall_entry',
    ].map((text) => file.prepare(text).pluck().get());
    file.prepare("UPDATE property SET value = '1002' WHERE name = 'entries_made_by'").run();
    // The first layout had no importance, time of storing or checksum.
    const first = Buffer.concat([(entry as Buffer).subarray(0, 64), (entry as Buffer).subarray(80)]);
    file.prepare('UPDATE recall_entry SET entry = ?').run(first);
    file.close();
    const after = await open();
    expect(await after.integrity()).toEqual([]);
    await after.close();
    const renewed = new Sqlite(path);
    expect(renewed.prepare("SELECT value FROM property WHERE name = 'entries_made_by'").pluck().get()).toBe(made);
    const [now, waiting] = ['SELECT entry FROM recall_entry', 'SELECT count(*) FROM pending_embedding'].map((text) =>
      renewed.prepare(text).pluck().get(),
    );
    renewed.close();
    expect((now as Buffer).subarray(80)).toEqual((entry as Buffer).subarray(80));
    expect(waiting).toBe(0);
  });

  it('the database file is rejected and not changed if it belongs to another program', async () => {
    const foreign = new Sqlite(path);
    foreign.exec('CREATE TABLE theirs (a)');
    foreign.close();
    const before = await readFile(path);
    await expect(open()).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(/another program/),
    });
    expect(await readFile(path)).toEqual(before);
    expect(await readdir(folder)).toEqual(['memory.db']);
  });

  it('the database file is rejected and not changed if it is not a database', async () => {
    await writeFile(path, 'just a text that somebody keeps here, longer than a header of a hundred bytes. '.repeat(9));
    const before = await readFile(path);
    await expect(open()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(await readFile(path)).toEqual(before);
  });

  it('the database file is rejected and not changed if it has a newer schema', async () => {
    const storage = await open();
    await storage.close();
    const newer = new Sqlite(path);
    newer.pragma(`user_version = ${MIGRATIONS.length + 1}`);
    newer.pragma('journal_mode = DELETE');
    newer.close();
    const before = await readFile(path);
    await expect(open()).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(/newer memoryd/),
    });
    expect(await readFile(path)).toEqual(before);
  });

  it.each([
    ['schema', `PRAGMA user_version = ${MIGRATIONS.length + 1}`],
    ['index entry version', "UPDATE property SET value = value + 1 WHERE name = 'entries_made_by'"],
  ])('the database file is no longer written if a newer memoryd has changed the %s', async (_, change) => {
    const storage = await open();
    await storage.store(memory('before', 'text'));
    const newer = new Sqlite(path);
    newer.exec(change);
    const refused = { code: 'UNAVAILABLE', message: expect.stringMatching(/newer memoryd/) };
    await expect(storage.store(memory('late', 'text'))).rejects.toMatchObject(refused);
    await expect(storage.probe(1, 0)).rejects.toMatchObject(refused);
    expect(await storage.memory('default', 'before', 1)).toMatchObject({ id: 'before' });
    expect(newer.prepare('SELECT id FROM memory').pluck().all()).toEqual(['before']);
    newer.close();
    await storage.close();
    await expect(open()).rejects.toMatchObject(refused);
  });

  it('the database file can no longer be written after it was deleted or replaced', async () => {
    const storage = await open();
    await storage.store(memory('one', 'text'));
    await rm(path);
    await expect(storage.store(memory('two', 'text'))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(storage.stats('default', 2)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await writeFile(path, '');
    await expect(storage.store(memory('three', 'text'))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await storage.close();
  });

  it('the database file is not changed by a pending purge if it has been replaced by a file of another program', async () => {
    const storage = await open();
    await storage.store(memory('secret', 'xylograph'));
    const reader = openBlockingReader();
    expect(await storage.forget('default', 'secret')).toMatchObject({ purged: false });
    await rename(path, `${path}.moved`);
    const foreign = join(folder, 'foreign.db');
    const other = new Sqlite(foreign);
    other.exec("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (printf('%.3000c', 'x')), ('y')");
    other.exec('DELETE FROM theirs; VACUUM');
    other.close();
    const bytes = await readFile(foreign);
    // Writes into the gap of the second page, which a purge would zero.
    bytes.write('foreign bytes', 4096 + 1000);
    await writeFile(path, bytes);
    reader.close();
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(await readFile(path)).toEqual(bytes);
    await storage.close();
  });

  it('the database file can no longer be read or written by a closed storage', async () => {
    const storage = await open();
    await storage.close();
    await expect(storage.store(memory('late', 'text'))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(storage.memory('default', 'late', 2)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(await readdir(folder)).toEqual(['memory.db']);
  });

  it('the database file can be copied after a clean shutdown and opened elsewhere', async () => {
    const storage = await open();
    await storage.store(memory('one', 'travels'));
    await storage.close();
    const copy = join(folder, 'copy.db');
    await copyFile(path, copy);
    const opened = await open(copy);
    expect((await opened.memory('default', 'one', 2))?.content).toBe('travels');
    await opened.close();
  });

  it('leads to an error with its path if it cannot be created', async () => {
    await writeFile(path, '');
    await chmod(path, 0o600);
    const below = join(path, 'memory.db');
    await expect(open(below)).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining(below) });
  });

  it.runIf(process.platform === 'linux')(
    'leads to an error with its path if its folder cannot be created',
    async () => {
      const below = '/proc/nowhere/at-all/memory.db';
      const refusal = { code: 'UNAVAILABLE', message: expect.stringContaining(below) };
      await expect(open(below)).rejects.toMatchObject(refusal);
      await (await open(path)).close();
      await expect(restoreFile(path, below)).rejects.toMatchObject(refusal);
    },
  );
});

it('a store promotes about 1/64 of the working maximum if the working tier exceeds three quarters of it', async () => {
  const storage = await open();
  const working = async () => (await storage.stats('default', 0)).working_count;
  await storage.storeMany(Array.from({ length: 750 }, (_, i) => memory(`full-${i}`, 'full')));
  expect(await working()).toBe(750);
  await storage.store(memory('over', 'one more than three quarters'));
  expect(await working()).toBe(735);
  await storage.close();
});
