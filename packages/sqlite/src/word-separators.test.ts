import { hash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Storage } from '@memoryd/core';
import { newMemory } from '@memoryd/suites';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openSqlite } from './open.ts';

let folder: string;
let path: string;
let storage: Storage;

const open = async () => (await openSqlite({ path, workingMax: 100_000 })).storage;

/** Bytes of a leaf page of the index, so that few memories have many pages, and merges of many steps. */
const LEAF_BYTES = 64;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'memoryd-'));
  path = join(folder, 'memory.db');
  storage = await open();
  const database = new Sqlite(path);
  database.exec(`INSERT INTO word_index (word_index, rank) VALUES ('pgsz', ${LEAF_BYTES})`);
  database.close();
});
afterEach(async () => {
  await storage.close();
  rmSync(folder, { recursive: true });
});

/** The prefix of each word of the namespace in the index. */
const KEY = hash('sha256', 'default').slice(0, 4);
const MAX_WORD = 20;

let seed = 7;
/** Returns a number from 0 to 1. */
function random(): number {
  seed = (seed * 16807) % 2147483647;
  return seed / 2147483647;
}
const newNumber = () => `${Math.floor((1 + random()) * 1e6)}${Math.floor((1 + random()) * 1e6)}`;

function readFiles(): string {
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'latin1'))
    .join(' ');
}

/** Characters that a beginning needs, since a shorter one may be a common term with the row ids after it. */
const MIN_BEGINNING = 6;

/** Returns the beginnings that follow the key of the namespace in the files. */
function getKeyedBeginnings(bytes: string): Set<string> {
  const found = new Set<string>();
  for (let at = bytes.indexOf(KEY); at >= 0; at = bytes.indexOf(KEY, at + 1)) {
    const start = at + KEY.length;
    for (let length = MIN_BEGINNING; length <= MAX_WORD; length++) found.add(bytes.slice(start, start + length));
  }
  return found;
}

/** Returns the numbers whose last ten digits stand in the files, or a beginning that no remaining number has. */
function getNumbersInFiles(gone: Iterable<string>, remaining: Iterable<string>): string[] {
  const bytes = readFiles();
  const beginnings = getKeyedBeginnings(bytes);
  for (const number of remaining) {
    for (let length = MIN_BEGINNING; length <= number.length; length++) beginnings.delete(number.slice(0, length));
  }
  const ends = new Set<string>();
  for (const [digits] of bytes.matchAll(/\d{10,}/g)) {
    for (let at = 0; at + 10 <= digits.length; at++) ends.add(digits.slice(at, at + 10));
  }
  const isThere = (number: string) =>
    ends.has(number.slice(-10)) ||
    Array.from({ length: number.length - 5 }, (_, i) => number.slice(0, i + MIN_BEGINNING)).some((each) =>
      beginnings.has(each),
    );
  return [...gone].filter(isThere);
}

/** Returns the separators that are not the beginning of a term. */
function getStaleSeparators(): string[] {
  const database = new Sqlite(path);
  database.exec('CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, word_index, row)');
  const terms = database.prepare('SELECT term FROM temp.terms').pluck().all() as string[];
  const separators = database
    .prepare('SELECT CAST(substr(term, 2) AS TEXT) FROM word_index_idx WHERE length(term) > 0')
    .pluck()
    .all() as string[];
  database.close();
  expect(separators.length).toBeGreaterThan(20);
  return separators.filter((separator) => !terms.some((term) => term.startsWith(separator)));
}

/** Returns the numbers that the index does not find, whole and by their beginnings, and checks the index. */
function getMissing(numbers: Iterable<string>): string[] {
  const database = new Sqlite(path);
  try {
    database.exec(`INSERT INTO word_index (word_index) VALUES ('integrity-check')`);
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
    const count = database.prepare('SELECT count(*) FROM word_index WHERE word_index MATCH ?').pluck();
    return [...numbers].filter(
      (number) =>
        count.get(`"${KEY}${number}"`) !== 1 ||
        [1, 2, 3, 8].some((length) => (count.get(`"${KEY}${number.slice(0, length)}" *`) as number) < 1),
    );
  } finally {
    database.close();
  }
}

interface Person {
  sessionId?: string;
  userId?: string;
  /** The present number is the last one. */
  numbers: string[];
}

/** Stores, changes and forgets memories, and remembers which numbers are gone. */
class Numbers {
  readonly #people = new Map<string, Person>();
  readonly gone = new Set<string>();

  get remaining(): string[] {
    return [...this.#people.values()].map(({ numbers }) => numbers.at(-1) as string);
  }

  async store(batch: number, count: number): Promise<void> {
    const memories = Array.from({ length: count }, (_, i) => {
      const labels = {
        ...(i % 5 === 1 && { sessionId: `s${batch}` }),
        ...(i % 5 === 2 && { userId: `u${batch % 3}` }),
      };
      const [id, number] = [`m${batch}x${i}`, newNumber()];
      this.#people.set(id, { ...labels, numbers: [number] });
      return newMemory({ id, content: `the number of person ${id} is ${number}`, ...labels });
    });
    await storage.storeMany(memories);
  }

  async changeSome(count: number): Promise<void> {
    await Promise.all(
      this.#some(count).map(([id, { numbers }], i) => {
        numbers.push(newNumber());
        return storage.update({ namespace: 'default', id, at: i + 2, content: `the number now is ${numbers.at(-1)}` });
      }),
    );
  }

  async forgetSome(count: number): Promise<void> {
    const some = this.#some(count);
    const outcomes = await Promise.all(some.map(([id]) => storage.forget('default', id)));
    expect(outcomes.every((outcome) => outcome.outcome === 'forgotten' && outcome.purged)).toBe(true);
    for (const [id, person] of some) this.#drop(id, person);
  }

  async forgetMany(selected: { sessionId?: string; userIds?: [string] }): Promise<void> {
    const matching = [...this.#people].filter(
      ([, { sessionId, userId }]) =>
        sessionId === (selected.sessionId ?? sessionId) && userId === (selected.userIds?.[0] ?? userId),
    );
    expect(await storage.forgetMany('default', selected)).toEqual({ count: matching.length, purged: true });
    for (const [id, person] of matching) this.#drop(id, person);
  }

  #some(count: number): [string, Person][] {
    const all = [...this.#people];
    return [
      ...new Set(Array.from({ length: count }, () => all[Math.floor(random() * all.length)] as [string, Person])),
    ];
  }

  #drop(id: string, { numbers }: Person): void {
    for (const number of numbers) this.gone.add(number);
    this.#people.delete(id);
  }
}

it('the file has no beginning of a forgotten word that no other word has, and lists find all other words', async () => {
  const numbers = new Numbers();
  for (let batch = 0; batch < 6; batch++) {
    await numbers.store(batch, 100);
    await numbers.changeSome(15);
    await numbers.forgetSome(30);
    expect(getNumbersInFiles(numbers.gone, numbers.remaining)).toEqual([]);
    expect(getStaleSeparators()).toEqual([]);
    if (batch % 2 === 1) await numbers.forgetMany({ sessionId: `s${batch}` });
  }
  await numbers.forgetMany({ userIds: ['u1'] });
  expect(numbers.gone.size).toBeGreaterThan(200);
  expect(getNumbersInFiles(numbers.gone, numbers.remaining)).toEqual([]);
  expect(getMissing(numbers.remaining)).toEqual([]);

  await storage.close();
  storage = await open();
  await numbers.forgetSome(50);
  expect(getNumbersInFiles(numbers.gone, numbers.remaining)).toEqual([]);
  expect(getMissing(numbers.remaining)).toEqual([]);
});

it('the index has the words of the memories as terms, even if they have signs or are not ASCII', async () => {
  const signs = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).map((sign) => `a${sign}b ${sign}C1`);
  const content = `${signs.join(' ')} c++ 10:30 Łódź ẞtraße 東京都庁 e\u0301te𝒳 ١٢٣ www.example.org/path?x=1 don't +49-171/55`;
  await storage.store(newMemory({ id: 'one', content }));
  const database = new Sqlite(path);
  database.exec('CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, word_index, row)');
  const terms = database.prepare('SELECT term FROM temp.terms').pluck().all();
  const words = database.prepare('SELECT words FROM memory_words').pluck().get() as string;
  database.close();
  expect(terms).toEqual([...words.matchAll(/'([^']+)'/g)].map(([, word]) => word).sort());
});
