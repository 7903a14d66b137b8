import { copyFile, mkdtemp, open as openFile, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { STATE_SIZE } from '@memoryd/minilm/parts';
import Sqlite from 'better-sqlite3';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newMemory } from '../../ports/new-memory.fixture.ts';
import type { Storage } from '../../ports/storage.ts';
import type { NewMemory } from '../../ports/storage-memories.ts';
import { propertyRuns } from '../../property-runs.fixture.ts';
import { packStates } from '../../recall-index/token-states.ts';
import { openSqlite } from './open-sqlite.ts';
import { MIGRATIONS } from './schema.ts';
import { verifyFile } from './verify-file.ts';

const MODEL = 'test-model';
const DIMENSIONS = 64;
const COUNT = 120;

/** Of three tokens. */
const STATES = Int8Array.from({ length: 3 * STATE_SIZE }, (_, i) => i);

let folder: string;
let path: string;
let memories: NewMemory[];
/** A file of memories with words, vectors, tags and a text in history, which nobody has open. */
let whole: Buffer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memoryd-'));
  path = join(folder, 'memory.db');
  memories = await makeFile();
  whole = await readFile(path);
});
beforeEach(async () => {
  for (const name of await readdir(folder)) await rm(join(folder, name));
  await writeFile(path, whole);
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

const KEEP_ENTRY = 'UPDATE recall_entry SET entry = ? WHERE ordinal = ?';

describe('a look at all that is kept finds', () => {
  const rows: { row: string; damage: () => void; says: RegExp }[] = [
    {
      row: 'a text of which a letter has changed',
      damage: () => change("UPDATE memory SET content = replace(content, 'Text 7 ', 'Text 6 ') WHERE ordinal = 8"),
      says: /memory 8 has another text/,
    },
    {
      row: 'a word of recall that has changed',
      damage: () => change(KEEP_ENTRY, flipped(getEntry(8), 90), 8),
      says: /recall knows of memory 8 has changed/,
    },
    {
      row: 'a vector that has changed',
      damage: () => change(KEEP_ENTRY, flipped(getEntry(8), getEntry(8).length - 20), 8),
      says: /recall knows of memory 8 has changed/,
    },
    {
      row: 'what recall knows of another memory',
      damage: () => change(KEEP_ENTRY, getEntry(9), 8),
      says: /memory 8 is recalled by another text/,
    },
    {
      row: 'what recall knows of another moment',
      damage: () => change('UPDATE memory SET importance = 0.25 WHERE ordinal = 8'),
      says: /memory 8 is recalled by another text/,
    },
    {
      row: 'vectors of other dimensions than their model has',
      damage: () => change('UPDATE embedding_model SET dimensions = 32'),
      says: /memory 8 has vectors that its model cannot have made/,
    },
    {
      row: 'a memory that has no vectors and waits for none',
      damage: () => {
        change('UPDATE embedding_model SET in_use = 0');
        change("INSERT INTO embedding_model (model_id, in_use) VALUES ('another', 1)");
      },
      says: /memory 8 has no vectors and waits for none/,
    },
    {
      row: 'a tag by which its memory is not found',
      damage: () => change("DELETE FROM attribute WHERE value = 'tag 7'"),
      says: /memory 8 is not found by its tag/,
    },
    {
      row: 'a tag that no memory has',
      damage: () => change("INSERT INTO attribute VALUES ('default', 'tag', 'nobody', 8)"),
      says: /filters know/,
    },
    {
      row: 'tags that cannot be read',
      damage: () => change("UPDATE memory SET tags = '[\"ta' WHERE ordinal = 8"),
      says: /memory 8 has tags or metadata that cannot be read/,
    },
    {
      row: 'counts that do not add up',
      damage: () => change('UPDATE tier_count SET count = count + 1'),
      says: /counts 121 working memories and has 120/,
    },
    {
      row: 'a memory that recall has lost',
      damage: () => change('DELETE FROM recall_entry WHERE ordinal = 8'),
      says: /memory 8 cannot be recalled/,
    },
    {
      row: 'a state of a token that has changed',
      damage: () => change('UPDATE token_states SET states = ? WHERE ordinal = 8', flipped(packStates([STATES]), 9)),
      says: /memory 8 has states of tokens that have changed/,
    },
    {
      row: 'states of tokens of a memory that recall does not know',
      damage: () => change('UPDATE token_states SET ordinal = 999 WHERE ordinal = 8'),
      says: /memory 999 has states of tokens and should not/,
    },
    {
      row: 'a history without its memory',
      damage: () => change("INSERT INTO memory_history VALUES ('default', 999, 1, 1, 'text')"),
      says: /memory 999 has a history/,
    },
    {
      row: 'a duplicate without the memory that it was merged into',
      damage: () => change("UPDATE memory SET merged_into = 'nobody' WHERE ordinal = 8"),
      says: /memory 8 was merged into one that does not exist/,
    },
  ];
  it.each(rows)('$row', ({ damage, says }) => {
    damage();
    expect(verifyFile(path).problems.join('\n')).toMatch(says);
  });

  it('the same in a database that is open', async () => {
    for (const { damage } of rows.slice(0, 3)) damage();
    const storage = await open();
    const problems = await storage.integrity();
    await storage.close();
    expect(problems.join('\n')).toMatch(/memory 8 has another text/);
    expect(problems.join('\n')).toMatch(/recall knows of memory 8 has changed/);
  });
});

describe('a damaged file', () => {
  it('answers UNAVAILABLE with what to do, from the page that is damaged on and not before', async () => {
    const bytes = await readFile(path);
    const place = bytes.indexOf('Text 77 of');
    const page = Math.floor(place / 8192);
    bytes.fill(0xff, page * 8192, page * 8192 + 100);
    await writeFile(path, bytes);
    const storage = await open();
    const damaged = {
      code: 'UNAVAILABLE',
      message: expect.stringMatching(/damaged.*restore a backup.*memoryd verify/),
    };
    await expect(storage.memory('default', 'memory-77', 1e6)).rejects.toMatchObject(damaged);
    expect((await storage.memory('default', 'memory-0', 1e6))?.content).toBe(memories[0]?.content);
    expect((await storage.integrity()).length).toBeGreaterThan(0);
    await storage.close();
  });

  it('is searched by nothing that has changed, until it is as it was', async () => {
    const entry = getEntry(8);
    change(KEEP_ENTRY, flipped(entry, entry.length - 20), 8);
    const storage = await open();
    const damaged = { code: 'UNAVAILABLE', message: expect.stringMatching(/damaged.*memory 8/) };
    await expect(search(storage)).rejects.toMatchObject(damaged);
    await expect(search(storage)).rejects.toMatchObject(damaged);
    change(KEEP_ENTRY, entry, 8);
    expect((await search(storage)).found).toBeGreaterThan(0);
    await storage.close();
  });

  it('that has lost its end is refused and left as it was, log or no log', async () => {
    const half = join(folder, 'half.db');
    await copyFile(path, half);
    await truncate(half, 8192 * 9);
    const before = await readFile(half);
    const damaged = { code: 'UNAVAILABLE', message: expect.stringMatching(/damaged/) };
    await expect(open(half)).rejects.toMatchObject(damaged);
    expect(await isStill(half, before)).toBe(true);
    const { log } = await leaveLog();
    await truncate(path, 8192 * 9);
    const rest = await readFile(path);
    await expect(open()).rejects.toMatchObject(damaged);
    expect([await isStill(path, rest), await isStill(`${path}-wal`, log)]).toEqual([true, true]);
  });

  it('of which only the log is left is refused, and the log left as it was', async () => {
    const { log } = await leaveLog();
    await writeFile(path, '');
    const refused = { code: 'UNAVAILABLE', message: expect.stringMatching(/missing or empty.*-wal/) };
    await expect(open()).rejects.toMatchObject(refused);
    await rm(path);
    await expect(open()).rejects.toMatchObject(refused);
    expect(await isStill(`${path}-wal`, log)).toBe(true);
  });

  it('that names a schema which it has not is refused and left as it was', async () => {
    for (const version of [0, -1]) {
      const connection = new Sqlite(path);
      connection.pragma(`user_version = ${version}`);
      connection.close();
      const before = await readFile(path);
      await expect(open()).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringMatching(/damaged/) });
      expect(await isStill(path, before)).toBe(true);
    }
  });

  it('of a newer memoryd that was killed is refused, and its log left as it was', async () => {
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
    expect([await isStill(path, file), await isStill(`${path}-wal`, log)]).toEqual([true, true]);
  });

  it('never gives a wrong text or an error of another kind without being found out', { timeout: 300_000 }, async () => {
    const copy = join(folder, 'copy.db');
    const anyFlip = fc.record({ place: fc.nat({ max: whole.length - 1 }), bit: fc.nat({ max: 7 }) });
    await fc.assert(
      fc.asyncProperty(anyFlip, async ({ place, bit }) => {
        await writeFile(copy, whole);
        const file = await openFile(copy, 'r+');
        await file.write(Buffer.from([(whole[place] as number) ^ (1 << bit)]), 0, 1, place);
        await file.close();
        await expectHonest(copy);
      }),
      { numRuns: Number(process.env.DAMAGE_RUNS ?? propertyRuns(10)) },
    );
  });
});

/** Whether a file has these bytes; comparing them one by one, as a matcher does, takes seconds. */
async function isStill(file: string, bytes: Buffer): Promise<boolean> {
  return (await readFile(file)).equals(bytes);
}

/** Leaves beside the file what a killed process leaves: a log of commits. */
async function leaveLog(): Promise<{ log: Buffer }> {
  const storage = await open();
  await storage.store({ ...memory(COUNT), id: 'in the log' });
  const [file, log] = [await readFile(path), await readFile(`${path}-wal`)];
  await storage.close();
  await writeFile(path, file);
  await writeFile(`${path}-wal`, log);
  return { log };
}

/** Every answer is right, or UNAVAILABLE; where one is neither, a look at all that is kept finds a problem. */
async function expectHonest(file: string): Promise<void> {
  let storage: Storage;
  try {
    storage = await open(file);
  } catch (error) {
    expect(error).toMatchObject({ code: 'UNAVAILABLE' });
    return;
  }
  try {
    let wrong = false;
    const ask = async <T>(question: Promise<T>): Promise<T | undefined> =>
      question.catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'UNAVAILABLE' });
        wrong = true;
        return undefined;
      });
    for (const { id, content, tags } of memories) {
      const found = await ask(storage.memory('default', id, 1e6));
      wrong ||= found?.content !== content || found.tags.join() !== tags.join();
    }
    const found = await ask(search(storage));
    wrong ||= found?.memoryCount !== COUNT;
    if (wrong) expect(await storage.integrity()).not.toEqual([]);
  } finally {
    await storage.close();
  }
}
