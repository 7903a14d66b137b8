import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Storage } from '@memoryd/core';
import type { StorageCopy } from '@memoryd/core/ports';
import { newMemory } from '@memoryd/suites';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { copyTo } from './copies.ts';
import { openSqlite } from './open.ts';
import { backUpFile, restoreFile } from './restore-file.ts';
import { MIGRATIONS } from './schema.ts';
import { verifyFile } from './verify-file.ts';

const COPIES = new URL('../dist/copies.js', import.meta.url);

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memoryd-'));
  path = join(folder, 'memory.db');
});
afterEach(() => rm(folder, { recursive: true }));

const open = async (file = path) => (await openSqlite({ path: file, workingMax: 100_000 })).storage;

const memory = (id: string, content = `text of ${id}`) => newMemory({ id, content, tags: ['a tag'] });

const many = (count: number, name = 'memory') => Array.from({ length: count }, (_, i) => memory(`${name}-${i}`));

async function getBytes(copy: StorageCopy): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of copy.read()) pieces.push(piece);
  return Buffer.concat(pieces);
}

let prepared: Buffer;

beforeAll(async () => {
  const place = await mkdtemp(join(tmpdir(), 'memoryd-'));
  const file = join(place, 'memory.db');
  const storage = await open(file);
  await storage.storeMany(many(500));
  await storage.close();
  prepared = await readFile(file);
  await rm(place, { recursive: true });
});

/** Writes a closed database with some memories. */
const prepare = () => writeFile(path, prepared, { mode: 0o600 });

/** Returns the ids of all memories of a database. */
function getIds(file: string): Set<string> {
  const database = new Sqlite(file, { readonly: true });
  const ids = database.prepare<[], string>('SELECT id FROM memory').pluck().all();
  database.close();
  return new Set(ids);
}

/** Writes memories one by one until `stop` is called. `acknowledged` lists the stored ones. */
function startWriting(storage: Storage, name: string) {
  const acknowledged: string[] = [];
  let stopped = false;
  const done = (async () => {
    for (let i = 0; !stopped; i++) {
      const id = `${name}-${i}`;
      await storage.store(memory(id));
      acknowledged.push(id);
      if (i % 5 === 4) await storage.update({ namespace: 'default', id, at: i, content: `another ${i}` });
      if (i % 7 === 6) await storage.forget('default', acknowledged.splice(0, 1)[0] ?? '');
    }
  })();
  return {
    acknowledged,
    stop() {
      stopped = true;
      return done;
    },
  };
}

describe('Storage.backup', () => {
  it('creates a copy with all acknowledged memories that passes verification, even while several connections write', async () => {
    const [one, other] = [await open(), await open()];
    const writers = [startWriting(one, 'one'), startWriting(one, 'again'), startWriting(other, 'other')];
    for (let n = 0; n < 3; n++) {
      // The oldest memories are forgotten first, so the newest of each writer still exist.
      const before = writers.flatMap(({ acknowledged }) => acknowledged.slice(-20));
      const copy = await one.backup();
      const bytes = await getBytes(copy);
      const file = join(folder, `copy-${n}.db`);
      await writeFile(file, bytes);
      expect(verifyFile(file)).toEqual({ problems: [], checked: 'everything' });
      const ids = getIds(file);
      const left = await Promise.all(before.map((id) => one.memory('default', id, 2)));
      const lost = before.filter((id, i) => !ids.has(id) && left[i] !== undefined);
      expect(lost).toEqual([]);
      expect(before.some((id) => ids.has(id))).toBe(n > 0 || before.length > 0);
    }
    await Promise.all(writers.map((writer) => writer.stop()));
    await Promise.all([one.close(), other.close()]);
  });

  it('returns the size and checksum of the copy, and leaves no additional files in the folder of the database', async () => {
    const storage = await open();
    await storage.storeMany(many(500));
    const copy = await storage.backup();
    const bytes = await getBytes(copy);
    expect(bytes.length).toBe(copy.sizeBytes);
    expect(createHash('sha256').update(bytes).digest('base64')).toBe(copy.sha256);
    await storage.close();
    expect(await readdir(folder)).toEqual(['memory.db']);
  });

  it('creates a copy that only the owner can read, and unlinks the copy before it is read', async () => {
    const storage = await open();
    await storage.storeMany(many(500));
    const seen = new Map<string, number>();
    let copying = true;
    const making = storage.backup().finally(() => {
      copying = false;
    });
    while (copying) {
      for (const name of (await readdir(folder)).filter((each) => each.includes('.copy-'))) {
        const stats = await stat(join(folder, name)).catch(() => undefined);
        if (stats) seen.set(name, stats.mode & 0o777);
      }
    }
    const copy = await making;
    expect(new Set(seen.values())).toEqual(new Set([0o600]));
    expect((await readdir(folder)).filter((name) => name.includes('.copy-'))).toEqual([]);
    await copy.discard();
    await storage.close();
  });

  it('leaves no files after an abort', async () => {
    const storage = await open();
    await storage.storeMany(many(2000));
    const stop = new AbortController();
    const making = storage.backup(stop.signal);
    await expect.poll(async () => (await readdir(folder)).some((name) => name.includes('.copy-'))).toBe(true);
    stop.abort();
    await expect(making).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringMatching(/aborted/) });
    expect((await readdir(folder)).filter((name) => name.includes('.copy-'))).toEqual([]);
    await expect(storage.backup(stop.signal)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await storage.close();
  });

  it('Storage.backup is aborted by Storage.close, and leaves no files', async () => {
    const storage = await open();
    await storage.storeMany(many(2000));
    const making = expect(storage.backup()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await storage.close();
    await making;
    expect(await readdir(folder)).toEqual(['memory.db']);
  });

  it('rejects while the maximum number of copies is open', async () => {
    const storage = await open();
    const copies = await Promise.all(Array.from({ length: 4 }, () => storage.backup()));
    await expect(storage.backup()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(storage.exportRecords('default')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await copies[0]?.discard();
    await copies[0]?.discard();
    const another = await storage.backup();
    await expect(storage.backup()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    for (const copy of [...copies, another]) await copy.discard();
    await storage.close();
  });

  it('copies no forgotten texts, and does not prevent the purge of texts that are forgotten during the copy', async () => {
    const storage = await open();
    await storage.storeMany(many(3000));
    await storage.store(memory('before', 'xylograph'));
    await storage.store(memory('meanwhile', 'quincunx'));
    await storage.forget('default', 'before');
    const making = storage.backup();
    await expect.poll(async () => (await readdir(folder)).some((name) => name.includes('.copy-'))).toBe(true);
    await storage.forget('default', 'meanwhile');
    expect((await getBytes(await making)).includes('xylograph')).toBe(false);
    const left = async () => {
      const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name))));
      return files.some((file) => file.includes('quincunx'));
    };
    await expect.poll(left).toBe(false);
    await storage.close();
  });
});

describe('openSqlite', () => {
  it('deletes incomplete copies of crashed processes, but not those of running processes', async () => {
    await prepare();
    const left = [
      'memory.db.copy-4194304-1-1',
      'memory.db.copy-4194304-1-1-journal',
      `memory.db.copy-${process.pid}-1-1`,
    ];
    const others = [`memory.db.copy-${process.ppid}-1-1`, 'memory.db.copy-of-mine', 'other.db.copy-4194304-1-1'];
    for (const name of [...left, ...others]) await writeFile(join(folder, name), '');
    const storage = await open();
    expect((await readdir(folder)).filter((name) => name.includes('copy')).sort()).toEqual(others.sort());
    await storage.close();
  });
});

describe('copyTo', () => {
  it('starts no process if the signal is aborted before the start', async () => {
    await prepare();
    const begun: unknown[] = [];
    const note = (message: unknown) => begun.push(message);
    subscribe('child_process', note);
    onTestFinished(() => {
      unsubscribe('child_process', note);
    });
    const stop = new AbortController();
    const making = copyTo({ from: path, to: join(folder, 'copy.db') }, { signal: stop.signal });
    stop.abort();
    await expect(making).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringMatching(/aborted/) });
    expect(begun).toHaveLength(0);
    await copyTo({ from: path, to: join(folder, 'copy.db') });
    expect(begun).toHaveLength(1);
  });

  it('rejects if its process cannot be started, and the calling process continues', async () => {
    await prepare();
    const { execPath } = process;
    onTestFinished(() => {
      process.execPath = execPath;
    });
    process.execPath = join(folder, 'nothing');
    await expect(copyTo({ from: path, to: join(folder, 'copy.db') })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(/could not be started/),
      cause: { code: 'ENOENT' },
    });
    expect(await readdir(folder)).toEqual(['memory.db']);
  });

  it('rejects if too many files are open, and the calling process continues', async () => {
    await prepare();
    const script = `
      import { closeSync, openSync } from 'node:fs';
      import { copyTo } from ${JSON.stringify(COPIES.href)};
      const open = [];
      try { for (;;) open.push(openSync('/dev/null')); } catch {}
      // The file of the copy, and one more: too few for a process.
      for (const file of open.slice(-2)) closeSync(file);
      const failure = await copyTo({ from: process.argv[1], to: process.argv[2] }).catch((error) => error);
      setTimeout(() => process.stdout.write([failure.code, failure.cause?.code].join(' ')), 100);`;
    const limited = ['ulimit -n 100; exec "$@"', 'sh', process.execPath, '--input-type=module', '-e', script, path];
    const { stdout } = await promisify(execFile)('sh', ['-c', ...limited, join(folder, 'copy.db')]);
    expect(stdout).toBe('UNAVAILABLE EMFILE');
    expect(await readdir(folder)).toEqual(['memory.db']);
  });
});

describe('backUpFile', () => {
  it('copies a closed database without changing it', async () => {
    await prepare();
    const before = await readFile(path);
    const copy = join(folder, 'copy.db');
    const { sizeBytes } = await backUpFile(path, copy);
    expect(await readFile(path)).toEqual(before);
    expect((await readdir(folder)).sort()).toEqual(['copy.db', 'memory.db']);
    expect(await stat(copy)).toMatchObject({ size: sizeBytes, mode: 0o100600 });
    expect(verifyFile(copy)).toEqual({ problems: [], checked: 'everything' });
  });

  it('copies an open database, including commits that are only in the write-ahead log', async () => {
    const storage = await open();
    await storage.store(memory('newest'));
    await backUpFile(path, join(folder, 'copy.db'));
    await storage.close();
    expect(getIds(join(folder, 'copy.db'))).toEqual(new Set(['newest']));
  });

  it('rejects an existing target, and does not overwrite it', async () => {
    await prepare();
    const taken = join(folder, 'taken');
    await writeFile(taken, 'mine');
    await expect(backUpFile(path, taken)).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await readFile(taken, 'utf8')).toBe('mine');
    expect((await readdir(folder)).sort()).toEqual(['memory.db', 'taken']);
  });

  it.each([
    ['not a database', 'just a text that somebody keeps here, longer than a header of a hundred bytes. '.repeat(9)],
    ['empty', ''],
  ])('rejects a file that is %s', async (_name, text) => {
    await writeFile(path, text);
    await expect(backUpFile(path, join(folder, 'copy.db'))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(await readdir(folder)).toEqual(['memory.db']);
    expect(await readFile(path, 'utf8')).toBe(text);
  });
});

describe('restoreFile', () => {
  const copyPath = () => join(folder, 'copy.db');
  const newPath = () => join(folder, 'new', 'memory.db');
  let backup: Buffer;

  /** Writes a backup of a database to `copyPath`. */
  async function prepareBackup(): Promise<void> {
    if (!backup) {
      await prepare();
      await backUpFile(path, copyPath());
      backup = await readFile(copyPath());
    } else await writeFile(copyPath(), backup, { mode: 0o600 });
  }

  it('restores a backup to a file with owner-only permissions', async () => {
    await prepareBackup();
    await chmod(copyPath(), 0o644);
    const progress: [number, number][] = [];
    await restoreFile(copyPath(), newPath(), { onCopied: (...copied) => progress.push(copied) });
    expect(progress.at(-1)).toEqual([(await stat(copyPath())).size, (await stat(copyPath())).size]);
    expect((await stat(newPath())).mode & 0o777).toBe(0o600);
    expect(await readdir(join(folder, 'new'))).toEqual(['memory.db']);
    const storage = await open(newPath());
    expect(await storage.integrity()).toEqual([]);
    expect(await storage.memory('default', 'memory-499', 2)).toBeDefined();
    await storage.close();
  });

  it('restores a database file that was copied after a clean shutdown', async () => {
    await prepare();
    await restoreFile(path, newPath());
    expect(await readdir(join(folder, 'new'))).toEqual(['memory.db']);
    expect(verifyFile(newPath()).problems).toEqual([]);
    expect(await readdir(folder)).toEqual(['memory.db', 'new']);
  });

  it.each(['', '-wal', '-shm', '-journal'])(
    'rejects if memory.db%s exists, and does not overwrite it',
    async (suffix) => {
      await prepare();
      await mkdir(join(folder, 'new'));
      await writeFile(`${newPath()}${suffix}`, 'mine');
      await expect(restoreFile(path, newPath())).rejects.toMatchObject({ code: 'CONFLICT' });
      expect(await readFile(`${newPath()}${suffix}`, 'utf8')).toBe('mine');
      expect(await readdir(join(folder, 'new'))).toHaveLength(1);
    },
  );

  const broken: [what: string, breakIt: () => Promise<void>][] = [
    ['truncated', async () => truncate(copyPath(), (await stat(copyPath())).size - 30_000)],
    [
      'corrupt',
      async () => {
        const bytes = await readFile(copyPath());
        bytes.fill(0x5a, 8192 * 3, 8192 * 20);
        await writeFile(copyPath(), bytes);
      },
    ],
    ['empty', () => truncate(copyPath(), 0)],
    ['not a database', () => writeFile(copyPath(), 'a text')],
    [
      'from another program',
      async () => {
        await rm(copyPath());
        new Sqlite(copyPath()).exec('CREATE TABLE theirs (a)').close();
      },
    ],
    [
      'from a newer memoryd',
      async () => {
        const newer = new Sqlite(copyPath());
        newer.pragma(`user_version = ${MIGRATIONS.length + 1}`);
        newer.close();
      },
    ],
    ['missing', () => rm(copyPath())],
    ['in use', () => writeFile(`${copyPath()}-wal`, 'commits that are not in the file yet')],
  ];
  it.each(broken)('rejects a copy that is %s, and leaves no partial file', async (_name, breakIt) => {
    await prepareBackup();
    await breakIt();
    const before = await readFile(copyPath()).catch(() => undefined);
    await expect(restoreFile(copyPath(), newPath())).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(await readdir(join(folder, 'new')).catch(() => [])).toEqual([]);
    expect(await readFile(copyPath()).catch(() => undefined)).toEqual(before);
  });
});

describe('verifyFile', () => {
  it('returns no problems for an intact database, open or closed, and does not change the file', async () => {
    await prepare();
    const before = await readFile(path);
    const stages: string[] = [];
    expect(verifyFile(path, (stage) => stages.push(stage))).toEqual({ problems: [], checked: 'everything' });
    expect(stages).toEqual(['pages', 'memories', 'index']);
    expect(await readFile(path)).toEqual(before);
    expect(await readdir(folder)).toEqual(['memory.db']);
    const storage = await open();
    await storage.store(memory('newest'));
    expect(verifyFile(path)).toEqual({ problems: [], checked: 'everything' });
    await storage.close();
  });

  it('verifyFile reports corrupted pages', async () => {
    await prepare();
    const bytes = await readFile(path);
    bytes.fill(0x5a, bytes.length - 8192 * 4, bytes.length - 8192);
    await writeFile(path, bytes);
    const { problems, checked } = verifyFile(path);
    expect(problems.length).toBeGreaterThan(0);
    expect(checked).toBe('pages');
    expect(await readFile(path)).toEqual(bytes);
  });

  it('reports texts and index entries that do not match their memories', async () => {
    await prepare();
    const tampered = new Sqlite(path);
    tampered.exec("UPDATE memory SET content = 'another' WHERE ordinal = 7");
    tampered.exec('DELETE FROM recall_entry WHERE ordinal = 9');
    tampered.close();
    expect(verifyFile(path).problems).toEqual([
      'the text of memory 7 does not match its checksum',
      'the usage of namespace default is wrong',
      'the index entry of memory 7 does not match its row',
      'memory 9 has no index entry',
    ]);
  });

  it('reads the write-ahead log of a crashed process without changing it', async () => {
    const storage = await open();
    await storage.store(memory('in the log'));
    const crashed = join(folder, 'crashed');
    await mkdir(crashed);
    for (const name of ['memory.db', 'memory.db-wal']) await copyFile(join(folder, name), join(crashed, name));
    await storage.close();
    const before = await readFile(join(crashed, 'memory.db-wal'));
    expect(verifyFile(join(crashed, 'memory.db')).problems).toEqual([]);
    expect(await readFile(join(crashed, 'memory.db-wal'))).toEqual(before);
  });

  it('checks only the pages of a file that needs a migration', async () => {
    await prepare();
    const steps = MIGRATIONS as string[];
    steps.push('CREATE TABLE later (name)');
    try {
      expect(verifyFile(path)).toEqual({ problems: [], checked: 'pages' });
    } finally {
      steps.pop();
    }
  });

  it('throws for a file that is not a memoryd database, and names the file', async () => {
    await writeFile(path, 'no database at all\n'.repeat(1000));
    expect(() => verifyFile(path)).toThrow(`${path} is not a memoryd database, or its header is corrupt`);
    await writeFile(path, '');
    expect(() => verifyFile(path)).toThrow(`${path} is empty, so the file is not a memoryd database`);
    new Sqlite(path).exec('CREATE TABLE theirs (a)').close();
    expect(() => verifyFile(path)).toThrow(`${path} is a database of another program`);
    expect(() => verifyFile(join(folder, 'none.db'))).toThrow();
  });
});
