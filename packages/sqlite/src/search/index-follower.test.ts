import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NO_QUOTAS } from '@memoryd/core';
import { STATE_SIZE } from '@memoryd/minilm/parts';
import type { RecallIndex } from '@memoryd/search';
import { IndexFullError, packEntry, packStates } from '@memoryd/search';
import { newMemory } from '@memoryd/suites';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Connection } from '../connection.ts';
import { transaction } from '../dialect.ts';
import { migrate } from '../migrate.ts';
import { openForWriting } from '../open-connection.ts';
import { noteChange, writeEntry } from '../recall-entry.ts';
import { writeVerbs } from '../write-verbs.ts';
import { IndexFollower, indexProblems } from './index-follower.ts';

/** Slightly more than the size of an empty index. */
const SMALL_MAX_BYTES = 12 * 2 ** 20;

/** Words per text. Texts share no words, and a small index holds between 60 and 120 of them. */
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

/** Expects IndexFullError. `hasRead` tells whether entries were read, as a load does. */
function expectNoRoom(follower: IndexFollower): { hasRead: boolean } {
  statements = [];
  expect(() => follow(follower)).toThrow(IndexFullError);
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

/** Replaces the entry of the first memory by one with `count` new words. */
function replaceWords(count: number): void {
  const frequencies = new Map(Array.from({ length: count }, () => [++words, 1]));
  const fields = { createdAt: 1, namespace: 1, session: 0, length: count, labels: [], speaker: 0, marks: 0 };
  const entry = { ...fields, ordinal: 1, revision: noteChange(writer, 1), frequencies, storedAt: 1, importance: 0.5 };
  writeEntry(writer, 1, packEntry(entry));
}

describe('IndexFollower', () => {
  it('rebuilds the index if there are more removed than current words, even with few memories', async () => {
    await store(ids(0, 1));
    const follower = new IndexFollower();
    const first = follow(follower);
    for (let change = 0; change < 12; change++) {
      expect(follow(follower)).toBe(first);
      replaceWords(100_000);
    }
    expect(follow(follower)).toBe(first);
    replaceWords(100_000);
    expect(follow(follower)).not.toBe(first);
    expect(getProblems(follower)).toEqual([]);
  });

  it('reuses the space of removed words over many changes', async () => {
    await store(ids(0, 1));
    const follower = new IndexFollower(SMALL_MAX_BYTES);
    for (let change = 0; change < 20; change++) {
      replaceWords(8000);
      expect(getProblems(follower)).toEqual([]);
    }
  });

  it('reuses the space of forgotten memories for new memories', async () => {
    await store(ids(0, 60));
    const follower = new IndexFollower(SMALL_MAX_BYTES);
    follow(follower);
    await forget(ids(0, 60));
    await store(ids(60, 120));
    expect(getProblems(follower)).toEqual([]);
  });
});

describe('IndexFollower with token states', () => {
  const MODEL = 'a model';
  const states = Int8Array.from({ length: STATE_SIZE }, () => 22);
  const packedBytes = packStates([states]).length;

  async function embed(...ordinals: number[]): Promise<void> {
    const vectors = ordinals.map((ordinal) => ({
      ordinal,
      revision: 1,
      vectors: [Float32Array.from([0.6, 0.8])],
      states: [states],
    }));
    await transaction(writer, async (queries) => {
      await writeVerbs.useModel(queries, MODEL);
      await writeVerbs.putVectors(queries, MODEL, vectors);
    });
  }

  const getCached = (index: RecallIndex) => [1, 2, 3, 4, 5].filter((ordinal) => index.nearness.has(ordinal));

  it('loads the states of all memories after a start, newest first, up to the given number of bytes', async () => {
    await store(ids(0, 5));
    await embed(1, 2, 4, 5);
    const follower = new IndexFollower(undefined, { maxBytes: 2 ** 20 });
    const index = follow(follower);
    const load = (maxBytes: number) => reader.transaction(() => follower.loadStates(reader, maxBytes))();
    expect(getCached(index)).toEqual([]);
    expect([load(1), getCached(index)]).toEqual([false, [5]]);
    expect([load(2 * packedBytes), getCached(index)]).toEqual([false, [2, 4, 5]]);
    expect([load(2 * packedBytes), getCached(index)]).toEqual([true, [1, 2, 4, 5]]);
    expect(load(2 * packedBytes)).toBe(true);
  });

  it('caches the states of a memory that is embedded later', async () => {
    await store(ids(0, 3));
    await embed(1);
    const follower = new IndexFollower(undefined, { maxBytes: 2 ** 20 });
    follow(follower);
    await embed(3);
    expect(getCached(follow(follower))).toEqual([3]);
  });
});

describe('a database that exceeds the maximum index size', () => {
  it.each([
    ['at the start', 0],
    ['as it grows', 40],
  ])(
    'a database that exceeds the maximum index size is rejected %s, and is not reloaded until enough memories are forgotten',
    async (_name, before) => {
      const follower = new IndexFollower(SMALL_MAX_BYTES);
      await store(ids(0, before));
      follow(follower);
      await store(ids(before, 160));
      expect(expectNoRoom(follower)).toEqual({ hasRead: true });
      expect(expectNoRoom(follower)).toEqual({ hasRead: false });
      await forget(ids(0, 2));
      await store(ids(160, 170));
      expect(expectNoRoom(follower)).toEqual({ hasRead: false });
      await forget(ids(2, 130));
      expect(getProblems(follower)).toEqual([]);
    },
  );

  it('a database that exceeds the maximum index size is reloaded once and rejected again if it is still too large', async () => {
    const follower = new IndexFollower(SMALL_MAX_BYTES);
    await store(ids(0, 160));
    expect(expectNoRoom(follower)).toEqual({ hasRead: true });
    await forget(ids(0, 20));
    expect(expectNoRoom(follower)).toEqual({ hasRead: true });
    expect(expectNoRoom(follower)).toEqual({ hasRead: false });
  });
});
