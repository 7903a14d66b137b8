import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newMemory } from '../../../ports/new-memory.fixture.ts';
import { packEntry } from '../../../recall-index/entry.ts';
import { NoRoom } from '../../../recall-index/exchange.ts';
import type { RecallIndex } from '../../../recall-index/recall-index.ts';
import { NO_QUOTAS } from '../../sql/quotas.ts';
import type { Connection } from '../connection.ts';
import { transaction } from '../file-queries.ts';
import { migrate } from '../migrate-file.ts';
import { openForWriting } from '../open-connection.ts';
import { noteChange, writeEntry } from '../recall-entry.ts';
import { writeVerbs } from '../write-verbs.ts';
import { IndexFollower, indexProblems } from './index-follower.ts';

/** Little more than an index takes without a memory. */
const LITTLE_ROOM = 12 * 2 ** 20;

/** Texts without a word in common, of which there is room for more than sixty and fewer than 120. */
const WORDS_EACH = 450;

let folder: string;
let writer: Connection;
let reader: Connection;
let statements: string[];
let words: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memoryd-'));
  const path = join(folder, 'memory.db');
  writer = openForWriting(path);
  migrate(writer);
  statements = [];
  reader = new Sqlite(path, { readonly: true, verbose: (statement) => statements.push(String(statement)) });
  words = 0;
});
afterEach(async () => {
  writer.close();
  reader.close();
  await rm(folder, { recursive: true });
});

function follow(follower: IndexFollower): RecallIndex {
  return reader.transaction(() => follower.follow(reader))();
}

function getProblems(follower: IndexFollower): string[] {
  return reader.transaction(() => indexProblems(reader, follower.follow(reader)))();
}

/** Whether following looks at entries, as a load does, and refuses for want of room. */
function refusal(follower: IndexFollower): { hasRead: boolean } {
  statements = [];
  expect(() => follow(follower)).toThrow(NoRoom);
  return { hasRead: statements.some((statement) => statement.includes('recall_entry')) };
}

function ids(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, i) => `memory ${from + i}`);
}

function newWords(count: number): string {
  return Array.from({ length: count }, () => `word${words++}`).join(' ');
}

async function store(some: string[]): Promise<void> {
  const limits = { workingMax: 1000, quota: NO_QUOTAS };
  const memories = some.map((id) => newMemory({ id, content: newWords(WORDS_EACH) }));
  await transaction(writer, (queries) => writeVerbs.storeMany(queries, memories, limits));
}

async function forget(some: string[]): Promise<void> {
  await transaction(writer, async (queries) => {
    for (const id of some) await writeVerbs.forget(queries, 'default', id);
  });
}

/** Lets the first memory say so many words that none has said before. */
function sayAnew(count: number): void {
  const frequencies = new Map(Array.from({ length: count }, () => [++words, 1]));
  const fields = { createdAt: 1, namespace: 1, session: 0, length: count, labels: [], speaker: 0, marks: 0 };
  const entry = { ...fields, ordinal: 1, revision: noteChange(writer, 1), frequencies, storedAt: 1, importance: 0.5 };
  writeEntry(writer, 1, packEntry(entry));
}

describe('the index that follows a file', () => {
  it('is made anew where more words were forgotten than are in, of however few memories', async () => {
    await store(ids(0, 1));
    const follower = new IndexFollower();
    const first = follow(follower);
    for (let change = 0; change < 12; change++) {
      expect(follow(follower)).toBe(first);
      sayAnew(100_000);
    }
    expect(follow(follower)).toBe(first);
    sayAnew(100_000);
    expect(follow(follower)).not.toBe(first);
    expect(getProblems(follower)).toEqual([]);
  });

  it('makes room of what was forgotten, however much comes and goes', async () => {
    await store(ids(0, 1));
    const follower = new IndexFollower(LITTLE_ROOM);
    for (let change = 0; change < 20; change++) {
      sayAnew(8000);
      expect(getProblems(follower)).toEqual([]);
    }
  });

  it('makes room of what is forgotten while as much comes', async () => {
    await store(ids(0, 60));
    const follower = new IndexFollower(LITTLE_ROOM);
    follow(follower);
    await forget(ids(0, 60));
    await store(ids(60, 120));
    expect(getProblems(follower)).toEqual([]);
  });
});

describe('a file with more than there is room for', () => {
  it.each([
    ['at a start', 0],
    ['as it grows', 40],
  ])('is refused %s, without a load each time, until enough of it was forgotten', async (_when, before) => {
    const follower = new IndexFollower(LITTLE_ROOM);
    await store(ids(0, before));
    follow(follower);
    await store(ids(before, 160));
    expect(refusal(follower)).toEqual({ hasRead: true });
    expect(refusal(follower)).toEqual({ hasRead: false });
    await forget(ids(0, 2));
    await store(ids(160, 170));
    expect(refusal(follower)).toEqual({ hasRead: false });
    await forget(ids(2, 130));
    expect(getProblems(follower)).toEqual([]);
  });

  it('is refused without a load again where it still holds too much', async () => {
    const follower = new IndexFollower(LITTLE_ROOM);
    await store(ids(0, 160));
    expect(refusal(follower)).toEqual({ hasRead: true });
    await forget(ids(0, 20));
    expect(refusal(follower)).toEqual({ hasRead: true });
    expect(refusal(follower)).toEqual({ hasRead: false });
  });
});
