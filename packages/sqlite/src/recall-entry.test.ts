import { CorruptDatabaseError } from '@memoryd/core';
import { packEntry, withVectors } from '@memoryd/search';
import Sqlite from 'better-sqlite3';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Connection } from './connection.ts';
import { readEntries } from './recall-entry.ts';

/** More than twice the entries of one read. */
const ORDINALS = Array.from({ length: 300 }, (_, i) => 2 * (i + 1));

/** Longer than the entries that share a blob. */
const LONG_BYTES = 100_000;

let connection: Connection;

// A corrupted page may contain anything, so this table accepts any type.
beforeEach(() => {
  connection = new Sqlite(':memory:');
  connection.exec('CREATE TABLE recall_entry (ordinal INTEGER PRIMARY KEY, entry)');
  for (const ordinal of ORDINALS) writeRow(ordinal, getEntry(ordinal));
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

function writeRow(ordinal: number, entry: unknown): void {
  connection.prepare('INSERT OR REPLACE INTO recall_entry VALUES (?, ?)').run(ordinal, entry);
}

function read(): Buffer[] {
  return Array.from(readEntries(connection), (entry) => Buffer.from(entry));
}

describe('readEntries', () => {
  it('yields all index entries in order', () => {
    expect(read()).toEqual(ORDINALS.map(getEntry));
  });

  it('yields nothing for an empty table', () => {
    connection.exec('DELETE FROM recall_entry');
    expect(read()).toEqual([]);
  });

  it.each([
    ['some', [4, 256, 258, 600]],
    ['all', ORDINALS],
  ])('yields all index entries if %s of them are long', (_name, long) => {
    for (const ordinal of long) writeRow(ordinal, makeLongEntry(ordinal));
    const expected = ORDINALS.map((ordinal) => (long.includes(ordinal) ? makeLongEntry(ordinal) : getEntry(ordinal)));
    expect(Buffer.concat(read()).equals(Buffer.concat(expected))).toBe(true);
  });

  it.each([
    ['a text', 'a text'],
    ['a text of the right bytes', getEntry(256).toString('latin1')],
    ['a number', 7],
    ['null', null],
    ['an empty blob', Buffer.alloc(0)],
    ['a blob with a changed byte', getEntry(256).fill(1, 81, 82)],
    ['a truncated blob', getEntry(256).subarray(0, 80)],
    ['the entry of another memory', getEntry(300)],
    ['a long entry with a changed byte', makeLongEntry(256).fill(3, 5000, 5001)],
  ])('throws for an index entry that is %s, and the error names the memory', (_name, entry) => {
    for (const ordinal of [256, 258, 600]) {
      connection.exec('BEGIN');
      writeRow(ordinal, entry);
      expect(read).toThrow(new CorruptDatabaseError(`the index entry of memory ${ordinal} is corrupted`));
      connection.exec('ROLLBACK');
    }
  });

  it('throws if the last index entry is null', () => {
    connection.exec('DELETE FROM recall_entry WHERE ordinal > 256');
    writeRow(257, null);
    expect(read).toThrow(CorruptDatabaseError);
  });

  it('throws if rows are out of order', () => {
    connection.exec('ALTER TABLE recall_entry RENAME TO original');
    // Simulates a page with two parents.
    connection.exec(`CREATE VIEW recall_entry AS SELECT iif(ordinal = 256, 2, ordinal) AS ordinal,
      iif(ordinal = 256, (SELECT entry FROM original WHERE ordinal = 2), entry) AS entry FROM original`);
    expect(read).toThrow(CorruptDatabaseError);
  });
});
