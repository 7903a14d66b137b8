import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OpenDatabase } from '@memoryd/core';
import { newMemory } from '@memoryd/suites';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Connection, writeProperty } from './connection.ts';
import { logPath } from './file.ts';
import { openSqlite } from './open.ts';
import { openForWriting } from './open-connection.ts';
import { zeroGaps } from './page-gaps.ts';
import { WrittenPages } from './written-pages.ts';

let folder: string;
let path: string;
let database: OpenDatabase;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'memoryd-'));
  path = join(folder, 'memory.db');
  database = await openSqlite({ path, workingMax: 1000 });
});
afterEach(async () => {
  await database.storage.close();
  rmSync(folder, { recursive: true });
});

describe('a purge after an earlier purge', () => {
  it('leaves no bytes in any page gap after random writes', async () => {
    const change = fc.record({
      verb: fc.constantFrom('store' as const, 'update' as const, 'forget' as const),
      id: fc.nat(30),
      words: fc.integer({ min: 1, max: 400 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 20, maxLength: 60 }), async (changes) => {
        for (const { verb, id, words } of changes) await perform(verb, `memory ${id}`, words);
      }),
      { numRuns: 5 },
    );
  });

  it('zeroes only the pages written since the earlier purge, or all pages if another connection has written', async () => {
    const { storage } = database;
    await storage.storeMany(Array.from({ length: 2000 }, (_, i) => newMemory({ id: `memory ${i}` })));
    await forget('memory 0');
    expect(plant()).toBeGreaterThan(20);
    await forget('memory 1');
    expect(countPlanted()).toBeGreaterThan(10);
    const other = openForWriting(path);
    writeProperty(other, 'written by another', 'yes');
    other.close();
    await forget('memory 2');
    expect(countPlanted()).toBe(0);
  });
});

describe('WrittenPages.getRanges', () => {
  let connection: Connection;
  let writtenPages: WrittenPages;

  beforeEach(() => {
    connection = openForWriting(path);
    writtenPages = new WrittenPages(connection, 2000);
    connection.pragma('wal_checkpoint(TRUNCATE)');
    writtenPages.begin();
    writtenPages.finish();
  });
  afterEach(() => {
    writtenPages.close();
    connection.close();
  });

  /** Commits a text that takes about `pages` pages. */
  const write = (name: string, pages: number) => {
    writeProperty(connection, name, 'x'.repeat(pages * PAGE_TEXT_BYTES));
    writtenPages.noteCommit();
  };
  const countPages = () => {
    writtenPages.noteLog();
    return writtenPages.getRanges()?.reduce((count, { from, until }) => count + until - from, 0);
  };

  it('includes the pages written before and after the write-ahead log restarts', () => {
    write('large', 1100);
    const before = countPages();
    expect(before).toBeGreaterThanOrEqual(1100);
    write('small', 5);
    expect(statSync(logPath(path)).size).toBeGreaterThan(1100 * PAGE_TEXT_BYTES);
    expect(countPages()).toBeGreaterThanOrEqual((before ?? 0) + 5);
  });

  it('returns undefined until the running purge is complete', () => {
    writtenPages.begin();
    write('between', 1);
    expect(countPages()).toBeUndefined();
    writtenPages.finish();
    expect(countPages()).toBeGreaterThan(0);
  });

  it('returns undefined above the maximum number of pages', () => {
    write('many', 1990);
    expect(countPages()).toBeGreaterThanOrEqual(1990);
    write('more', 20);
    expect(countPages()).toBeUndefined();
  });

  it.each(['TRUNCATE', 'RESTART'])(
    'returns undefined if the write-ahead log was reset before it was read (%s)',
    (how) => {
      write('unread', 1);
      connection.pragma(`wal_checkpoint(${how})`);
      write('later', 1);
      expect(countPages()).toBeUndefined();
    },
  );
});

async function perform(verb: 'store' | 'update' | 'forget', id: string, words: number): Promise<void> {
  const { storage } = database;
  const content = `${id} with words ${'of some length '.repeat(words)}`;
  const exists = (await storage.memory('default', id, 2)) !== undefined;
  if (verb === 'forget' && exists) {
    await forget(id);
    expectZeroedGaps();
  } else if (exists) await storage.update({ namespace: 'default', id, at: 2, content });
  else await storage.store(newMemory({ id, content }));
}

async function forget(id: string): Promise<void> {
  expect(await database.storage.forget('default', id)).toMatchObject({ outcome: 'forgotten', purged: true });
}

/** Expects that all page gaps are zero. */
function expectZeroedGaps(): void {
  const copy = join(folder, 'copy');
  const bytes = readFileSync(path);
  writeFileSync(copy, bytes);
  const file = openSync(copy, 'r+');
  zeroGaps(file, bytes.readUInt16BE(16), [{ from: 1, until: 2 ** 24 }]);
  closeSync(file);
  expect(readFileSync(copy).equals(bytes)).toBe(true);
}

/** Bytes of text on an overflow page, which also has a 4-byte page number. */
const PAGE_TEXT_BYTES = 8188;

const PLANTED = 'planted';

/** Writes bytes into the gap of every table leaf page with enough space. Returns the number of pages. */
function plant(): number {
  const bytes = readFileSync(path);
  const pageBytes = bytes.readUInt16BE(16);
  const file = openSync(path, 'r+');
  let planted = 0;
  for (let at = pageBytes; at < bytes.length; at += pageBytes) {
    const [kind, start, end] = [bytes[at], at + 8 + bytes.readUInt16BE(at + 3) * 2, at + bytes.readUInt16BE(at + 5)];
    if (kind !== 0x0d || end - start < PLANTED.length) continue;
    writeSync(file, PLANTED, start);
    planted++;
  }
  closeSync(file);
  return planted;
}

function countPlanted(): number {
  return readFileSync(path).toString('latin1').split(PLANTED).length - 1;
}
