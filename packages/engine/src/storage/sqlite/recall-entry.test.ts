import Sqlite from 'better-sqlite3';
import { beforeEach, describe, expect, it } from 'vitest';
import { packEntry, withVectors } from '../../recall-index/entry.ts';
import { DamagedDatabase } from '../damage.ts';
import type { Connection } from './connection.ts';
import { wholeEntries } from './recall-entry.ts';

/** More than are read at once, twice. */
const ORDINALS = Array.from({ length: 300 }, (_, i) => 2 * (i + 1));

/** Longer than what is read with others. */
const LONG_BYTES = 100_000;

let connection: Connection;

// A damaged page may hold anything, so this table takes anything.
beforeEach(() => {
  connection = new Sqlite(':memory:');
  connection.exec('CREATE TABLE recall_entry (ordinal INTEGER PRIMARY KEY, entry)');
  for (const ordinal of ORDINALS) keep(ordinal, getEntry(ordinal));
});

function getEntry(ordinal: number): Buffer {
  return packEntry({
    ordinal,
    createdAt: 1,
    namespace: 2,
    session: 3,
    revision: 0,
    length: 1,
    frequencies: new Map([[ordinal, 1]]),
    labels: [],
    speaker: 0,
    marks: 0,
    storedAt: 1,
    importance: 0.5,
  });
}

function makeLongEntry(ordinal: number): Buffer {
  return withVectors(getEntry(ordinal), 1, [Buffer.alloc(LONG_BYTES, ordinal)]);
}

function keep(ordinal: number, entry: unknown): void {
  connection.prepare('INSERT OR REPLACE INTO recall_entry VALUES (?, ?)').run(ordinal, entry);
}

function read(): Buffer[] {
  return Array.from(wholeEntries(connection), (entry) => Buffer.from(entry));
}

describe('the entries of a file', () => {
  it('come whole and in order, however many there are', () => {
    expect(read()).toEqual(ORDINALS.map(getEntry));
  });

  it('are none where there are none', () => {
    connection.exec('DELETE FROM recall_entry');
    expect(read()).toEqual([]);
  });

  it.each([
    ['some', [4, 256, 258, 600]],
    ['all', ORDINALS],
  ])('may be long, %s of them', (_which, long) => {
    for (const ordinal of long) keep(ordinal, makeLongEntry(ordinal));
    const expected = ORDINALS.map((ordinal) => (long.includes(ordinal) ? makeLongEntry(ordinal) : getEntry(ordinal)));
    expect(Buffer.concat(read()).equals(Buffer.concat(expected))).toBe(true);
  });

  it.each([
    ['a text', 'the words of nobody'],
    ['a text of the right bytes', getEntry(256).toString('latin1')],
    ['a number', 7],
    ['nothing', null],
    ['no bytes', Buffer.alloc(0)],
    ['another byte', getEntry(256).fill(1, 81, 82)],
    ['too few bytes', getEntry(256).subarray(0, 80)],
    ['that of another memory', getEntry(300)],
    ['a long one with another byte', makeLongEntry(256).fill(3, 5000, 5001)],
  ])('are read up to one that is %s, whose memory is named', (_what, entry) => {
    for (const ordinal of [256, 258, 600]) {
      connection.exec('BEGIN');
      keep(ordinal, entry);
      expect(read).toThrow(new DamagedDatabase(`what recall knows of memory ${ordinal} has changed`));
      connection.exec('ROLLBACK');
    }
  });

  it('are read up to one alone that is nothing', () => {
    connection.exec('DELETE FROM recall_entry WHERE ordinal > 256');
    keep(257, null);
    expect(read).toThrow(DamagedDatabase);
  });

  it('do not come without an end where rows are out of order', () => {
    connection.exec('ALTER TABLE recall_entry RENAME TO kept');
    // As from a page that two others point to.
    connection.exec(`CREATE VIEW recall_entry AS SELECT iif(ordinal = 256, 2, ordinal) AS ordinal,
      iif(ordinal = 256, (SELECT entry FROM kept WHERE ordinal = 2), entry) AS entry FROM kept`);
    expect(read).toThrow(DamagedDatabase);
  });
});
