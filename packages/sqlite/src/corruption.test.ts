import { copyFile, mkdtemp, open as openFile, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NewMemory, Storage } from '@memoryd/core';
import { STATE_SIZE } from '@memoryd/minilm/parts';
import { packStates } from '@memoryd/search';
import { propertyRuns } from '@memoryd/search/testing';
import { newMemory } from '@memoryd/suites';
import Sqlite from 'better-sqlite3';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openSqlite } from './open.ts';
import { MIGRATIONS } from './schema.ts';
import { verifyFile } from './verify-file.ts';

const MODEL = 'test-model';
const DIMENSIONS = 64;
const COUNT = 120;

/** Token states of three tokens. */
const STATES = Int8Array.from({ length: 3 * STATE_SIZE }, (_, i) => i);

let folder: string;
let path: string;
let memories: NewMemory[];
/** The bytes of a closed file with words, vectors, tags and an earlier text. */
let intact: Buffer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memoryd-'));
  path = join(folder, 'memory.db');
  memories = await makeFile();
  intact = await readFile(path);
});
beforeEach(async () => {
  for (const name of await readdir(folder)) await rm(join(folder, name));
  await writeFile(path, intact);
});
afterAll(() => rm(folder, { recursive: true }));

const open = async (file = path) => (await openSqlite({ path: file, workingMax: 1000 })).storage;

function memory(i: number): NewMemory {
  return newMemory({
    id: `memory-${i}`,
    content: `Text ${i} of the box in the harbour. `.repeat(1 + (i % 40) * 3),
    tags: [`tag ${i}`],
    sessionId: `session ${i % 5}`,
    metadata: { place: i },
    createdAt: 1 + i,
  });
}

function getVector(i: number): Float32Array {
  const values = Float32Array.from({ length: DIMENSIONS }, (_, axis) => Math.sin((i + 1) * (axis + 1)));
  const length = Math.hypot(...values);
  return values.map((value) => value / length);
}

async function makeFile(): Promise<NewMemory[]> {
  const storage = await open();
  const made = Array.from({ length: COUNT }, (_, i) => memory(i));
  await storage.useModel(MODEL);
  await storage.storeMany(made);
  const vectors = made.map((_, i) => ({ ordinal: i + 1, revision: 1, vectors: [getVector(i)], states: [STATES] }));
  await storage.putVectors(MODEL, vectors);
  await storage.update({ namespace: 'default', id: 'memory-0', at: 9, content: 'Another text of the box.' });
  await storage.putVectors(MODEL, [{ ordinal: 1, revision: 2, vectors: [getVector(0)] }]);
  expect(await storage.integrity()).toEqual([]);
  await storage.close();
  return [{ ...memory(0), content: 'Another text of the box.' }, ...made.slice(1)];
}

function change(statement: string, ...values: unknown[]): void {
  const connection = new Sqlite(path);
  connection.prepare(statement).run(...values);
  connection.close();
}

function search(storage: Storage) {
  return storage.search({
    namespace: 'default',
    text: 'box harbour',
    vector: { modelId: MODEL, values: getVector(3) },
    filter: {},
    now: 1e6,
    poolSize: 50,
    tailSize: 0,
  });
}

function getEntry(ordinal: number): Buffer {
  const connection = new Sqlite(path);
  const entry = connection.prepare('SELECT entry FROM recall_entry WHERE ordinal = ?').pluck().get(ordinal);
  connection.close();
  return entry as Buffer;
}

function flipped(entry: Buffer, place: number): Buffer {
  const changed = Buffer.from(entry);
  changed[place] = (changed[place] as number) ^ 4;
  return changed;
}

const WRITE_ENTRY = 'UPDATE recall_entry SET entry = ? WHERE ordinal = ?';

describe('an integrity check finds', () => {
  const rows: { row: string; corrupt: () => void; expected: RegExp }[] = [
    {
      row: 'a text with a changed letter',
      corrupt: () => change("UPDATE memory SET content = replace(content, 'Text 7 ', 'Text 6 ') WHERE ordinal = 8"),
      expected: /text of memory 8 does not match its checksum/,
    },
    {
      row: 'an index entry with a changed term',
      corrupt: () => change(WRITE_ENTRY, flipped(getEntry(8), 90), 8),
      expected: /index entry of memory 8 is corrupted/,
    },
    {
      row: 'an index entry with a changed vector',
      corrupt: () => change(WRITE_ENTRY, flipped(getEntry(8), getEntry(8).length - 20), 8),
      expected: /index entry of memory 8 is corrupted/,
    },
    {
      row: 'the index entry of another memory',
      corrupt: () => change(WRITE_ENTRY, getEntry(9), 8),
      expected: /index entry of memory 8 does not match its row/,
    },
    {
      row: 'an outdated index entry',
      corrupt: () => change('UPDATE memory SET importance = 0.25 WHERE ordinal = 8'),
      expected: /index entry of memory 8 does not match its row/,
    },
    {
      row: 'vectors with other dimensions than their model',
      corrupt: () => change('UPDATE embedding_model SET dimensions = 32'),
      expected: /memory 8 has vectors with the wrong dimensions/,
    },
    {
      row: 'a memory that has no vectors and is not queued for embedding',
      corrupt: () => {
        change('UPDATE embedding_model SET in_use = 0');
        change("INSERT INTO embedding_model (model_id, in_use) VALUES ('another', 1)");
      },
      expected: /memory 8 has no vectors and is not queued for embedding/,
    },
    {
      row: 'a tag without its attribute row',
      corrupt: () => change("DELETE FROM attribute WHERE value = 'tag 7'"),
      expected: /memory 8 has no attribute row for its tag/,
    },
    {
      row: 'an attribute row that no memory has',
      corrupt: () => change("INSERT INTO attribute VALUES ('default', 'tag', 'nobody', 8)"),
      expected: /attribute rows, expected/,
    },
    {
      row: 'tags with invalid JSON',
      corrupt: () => change("UPDATE memory SET tags = '[\"ta' WHERE ordinal = 8"),
      expected: /memory 8 has invalid tags or metadata/,
    },
    {
      row: 'wrong tier counts',
      corrupt: () => change('UPDATE tier_count SET count = count + 1'),
      expected: /has a working count of 121, expected 120/,
    },
    {
      row: 'a wrong count of a session',
      corrupt: () => change('UPDATE session_count SET count = count + 1'),
      expected: /the counts of session .* are wrong/,
    },
    {
      row: 'a wrong last time of a session',
      corrupt: () => change('UPDATE session_count SET last_at = last_at + 1'),
      expected: /the counts of session .* are wrong/,
    },
    {
      row: 'a wrong number of sessions',
      corrupt: () => change('UPDATE usage SET sessions = sessions + 1'),
      expected: /the number of users or sessions of namespace default is wrong/,
    },
    {
      row: 'a counted user without memories',
      corrupt: () => change("INSERT INTO usage VALUES ('default', 'ann', 0, 0, 0, 0, 0, 1)"),
      expected: /user ann in namespace default is not listed correctly/,
    },
    {
      row: 'a last storage time of a user before their last memory',
      corrupt: () => {
        change("UPDATE memory SET user_id = 'ann' WHERE ordinal = 8");
        change("INSERT INTO usage VALUES ('default', 'ann', 0, 1, 0, 0, 0, 1)");
      },
      expected: /user ann in namespace default is not listed correctly/,
    },
    {
      row: 'a memory without an index entry',
      corrupt: () => change('DELETE FROM recall_entry WHERE ordinal = 8'),
      expected: /memory 8 has no index entry/,
    },
    {
      row: 'a changed token state',
      corrupt: () => change('UPDATE token_states SET states = ? WHERE ordinal = 8', flipped(packStates([STATES]), 9)),
      expected: /token states of memory 8 are corrupted/,
    },
    {
      row: 'token states without an index entry',
      corrupt: () => change('UPDATE token_states SET ordinal = 999 WHERE ordinal = 8'),
      expected: /memory 999 has token states but no index entry/,
    },
    {
      row: 'a history without a memory row',
      corrupt: () => change("INSERT INTO memory_history VALUES ('default', 999, 1, 1, 'text')"),
      expected: /memory 999 has a history/,
    },
    {
      row: 'an attachment without a memory row',
      corrupt: () => change("INSERT INTO memory_attachment VALUES (999, 'default', 'text')"),
      expected: /the attachment of memory 999 is missing, or has no row or another size/,
    },
    {
      row: 'a memory without its attachment',
      corrupt: () => change('UPDATE memory SET attachment_bytes = 1 WHERE ordinal = 8'),
      expected: /the attachment of memory 8 is missing/,
    },
    {
      row: 'a merged duplicate without its survivor',
      corrupt: () => change("UPDATE memory SET merged_into = 'nobody' WHERE ordinal = 8"),
      expected: /memory 8 was merged into a missing memory/,
    },
  ];
  it.each(rows)('an integrity check finds $row', ({ corrupt, expected }) => {
    corrupt();
    expect(verifyFile(path).problems.join('\n')).toMatch(expected);
  });

  it('an integrity check finds a corrupted text and a corrupted index entry in an open database', async () => {
    for (const { corrupt } of rows.slice(0, 3)) corrupt();
    const storage = await open();
    const problems = await storage.integrity();
    await storage.close();
    expect(problems.join('\n')).toMatch(/text of memory 8 does not match its checksum/);
    expect(problems.join('\n')).toMatch(/index entry of memory 8 is corrupted/);
  });
});

describe('a corrupted or incompatible file', () => {
  it('causes UNAVAILABLE with instructions for reads of the corrupted page, but not of other pages', async () => {
    const bytes = await readFile(path);
    const place = bytes.indexOf('Text 77 of');
    const page = Math.floor(place / 8192);
    bytes.fill(0xff, page * 8192, page * 8192 + 100);
    await writeFile(path, bytes);
    const storage = await open();
    const corrupt = {
      code: 'UNAVAILABLE',
      message: expect.stringMatching(/corrupt.*restore a backup.*memoryd verify/),
    };
    await expect(storage.memory('default', 'memory-77', 1e6)).rejects.toMatchObject(corrupt);
    expect((await storage.memory('default', 'memory-0', 1e6))?.content).toBe(memories[0]?.content);
    expect((await storage.integrity()).length).toBeGreaterThan(0);
    await storage.close();
  });

  it('causes searches to fail until the corrupted index entry is restored', async () => {
    const entry = getEntry(8);
    change(WRITE_ENTRY, flipped(entry, entry.length - 20), 8);
    const storage = await open();
    const corrupt = { code: 'UNAVAILABLE', message: expect.stringMatching(/corrupt.*memory 8/) };
    await expect(search(storage)).rejects.toMatchObject(corrupt);
    await expect(search(storage)).rejects.toMatchObject(corrupt);
    change(WRITE_ENTRY, entry, 8);
    expect((await search(storage)).found).toBeGreaterThan(0);
    await storage.close();
  });

  it('a corrupted or incompatible file is rejected and not changed if it is truncated, with or without a write-ahead log', async () => {
    const half = join(folder, 'half.db');
    await copyFile(path, half);
    await truncate(half, 8192 * 9);
    const before = await readFile(half);
    const corrupt = { code: 'UNAVAILABLE', message: expect.stringMatching(/corrupt/) };
    await expect(open(half)).rejects.toMatchObject(corrupt);
    expect(await isUnchanged(half, before)).toBe(true);
    const { log } = await leaveLog();
    await truncate(path, 8192 * 9);
    const rest = await readFile(path);
    await expect(open()).rejects.toMatchObject(corrupt);
    expect([await isUnchanged(path, rest), await isUnchanged(`${path}-wal`, log)]).toEqual([true, true]);
  });

  it('a corrupted or incompatible file is rejected if it is empty or missing but has a write-ahead log, and the log is not changed', async () => {
    const { log } = await leaveLog();
    await writeFile(path, '');
    const refused = { code: 'UNAVAILABLE', message: expect.stringMatching(/missing or empty.*-wal/) };
    await expect(open()).rejects.toMatchObject(refused);
    await rm(path);
    await expect(open()).rejects.toMatchObject(refused);
    expect(await isUnchanged(`${path}-wal`, log)).toBe(true);
  });

  it('a corrupted or incompatible file is rejected and not changed if its schema version does not match its schema', async () => {
    for (const version of [0, -1]) {
      const connection = new Sqlite(path);
      connection.pragma(`user_version = ${version}`);
      connection.close();
      const before = await readFile(path);
      await expect(open()).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringMatching(/corrupt/) });
      expect(await isUnchanged(path, before)).toBe(true);
    }
  });

  it('a corrupted or incompatible file is rejected and not changed, like its write-ahead log, if the log of a killed newer memoryd contains a newer schema version', async () => {
    const connection = new Sqlite(path);
    connection.pragma('journal_mode = WAL');
    connection.pragma(`user_version = ${MIGRATIONS.length + 1}`);
    const [file, log] = [await readFile(path), await readFile(`${path}-wal`)];
    connection.close();
    await writeFile(path, file);
    await writeFile(`${path}-wal`, log);
    await expect(open()).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(/newer memoryd/),
    });
    expect([await isUnchanged(path, file), await isUnchanged(`${path}-wal`, log)]).toEqual([true, true]);
  });

  it('leads to correct results, UNAVAILABLE or integrity problems after any bit flip', {
    timeout: 300_000,
  }, async () => {
    const copy = join(folder, 'copy.db');
    const anyFlip = fc.record({ place: fc.nat({ max: intact.length - 1 }), bit: fc.nat({ max: 7 }) });
    await fc.assert(
      fc.asyncProperty(anyFlip, async ({ place, bit }) => {
        await writeFile(copy, intact);
        const file = await openFile(copy, 'r+');
        await file.write(Buffer.from([(intact[place] as number) ^ (1 << bit)]), 0, 1, place);
        await file.close();
        await expectDetected(copy);
      }),
      { numRuns: Number(process.env.CORRUPTION_RUNS ?? propertyRuns(10)) },
    );
  });
});

/** Returns true if the file has these bytes. A matcher would compare them one by one, which takes seconds. */
async function isUnchanged(file: string, bytes: Buffer): Promise<boolean> {
  return (await readFile(file)).equals(bytes);
}

/** Leaves a log of commits beside the file, as a killed process does. */
async function leaveLog(): Promise<{ log: Buffer }> {
  const storage = await open();
  await storage.store({ ...memory(COUNT), id: 'in the log' });
  const [file, log] = [await readFile(path), await readFile(`${path}-wal`)];
  await storage.close();
  await writeFile(path, file);
  await writeFile(`${path}-wal`, log);
  return { log };
}

/** Expects correct results or UNAVAILABLE. Otherwise the integrity check must report a problem. */
async function expectDetected(file: string): Promise<void> {
  let storage: Storage;
  try {
    storage = await open(file);
  } catch (error) {
    expect(error).toMatchObject({ code: 'UNAVAILABLE' });
    return;
  }
  try {
    let wrong = false;
    const attempt = async <T>(request: Promise<T>): Promise<T | undefined> =>
      request.catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'UNAVAILABLE' });
        wrong = true;
        return undefined;
      });
    for (const { id, content, tags } of memories) {
      const found = await attempt(storage.memory('default', id, 1e6));
      wrong ||= found?.content !== content || found.tags.join() !== tags.join();
    }
    const found = await attempt(search(storage));
    wrong ||= found?.memoryCount !== COUNT;
    if (wrong) expect(await storage.integrity()).not.toEqual([]);
  } finally {
    await storage.close();
  }
}
