import { randomBytes } from 'node:crypto';
import { fdatasyncSync, fstatSync, readSync, writeSync } from 'node:fs';
import { type Connection, readProperty, sql, writeProperty } from './connection.ts';

/*
 * SQLite's `secure_delete` zeroes what is deleted where it stands. But when it lays out a page anew it leaves, in the
 * gap between a page's cell pointers and its cells, bytes of where cells stood before; text that is deleted later
 * lives on there. Nothing ever reads the gap, so it can be zeroed in the file itself.
 */

/** First byte of a page that holds cells, and the bytes of its header (sqlite.org/fileformat2.html, section 1.6). */
const HEADER_BYTES = new Map([
  [0x02, 12],
  [0x05, 12],
  [0x0a, 8],
  [0x0d, 8],
]);

/** The file begins with a header, and the first page's own comes after it. */
const FILE_HEADER_BYTES = 100;

/**
 * Where the file's header has the bytes that each page leaves unused at its end, and the largest root page: 0 in a file
 * that gives no pages back, and has none that say where others belong.
 */
const RESERVED_PLACE = 20;
const MAX_ROOT_PLACE = 52;

/** Bytes of an entry in a page that says where others belong (section 1.8). */
const POINTER_BYTES = 5;

/** Where SQLite locks files. */
const LOCK_BYTE = 0x4000_0000;

/** Pages that are read at a time. */
const PAGES_AT_ONCE = 256;

/**
 * A page number of other pages' first four bytes is below 2^24, so that their first byte is never one of the above,
 * in files of fewer pages.
 */
const MAX_PAGES = 2 ** 24;

/** Pages from one up to before another; the first page of a file is 1. */
export interface PageRange {
  from: number;
  until: number;
}

/**
 * Zeroes the gaps of pages, as far as the file goes, and syncs. To be called only while nobody can write to the file: the log
 * is empty and the caller holds the lock for writing.
 *
 * @param anew whether gaps that read as zeros are written too: after a failed sync the system takes for written what is
 *   not on disk (Rebello et al. 2020, "Can applications recover from fsync failures?")
 * @returns how many pages the file has
 */
export function zeroGaps(file: number, pageBytes: number, ranges: readonly PageRange[], anew = false): number {
  const pages = fstatSync(file).size / pageBytes;
  if (pages >= MAX_PAGES) throw new Error('the file has too many pages to be cleared of what was forgotten');
  const isPointerMap = getPointerMap(file, pageBytes);
  const buffer = Buffer.alloc(pageBytes * PAGES_AT_ONCE);
  let zeroed = false;
  for (const { from, count } of reads(ranges, pages)) {
    const read = readSync(file, buffer, 0, count * pageBytes, (from - 1) * pageBytes);
    for (let at = 0; at + pageBytes <= read; at += pageBytes) {
      const page = from + at / pageBytes;
      const gap = isPointerMap(page) ? undefined : getResidue(buffer.subarray(at, at + pageBytes), page, anew);
      if (!gap) continue;
      const bytes = gap.end - gap.start;
      writeSync(file, new Uint8Array(bytes), 0, bytes, (page - 1) * pageBytes + gap.start);
      zeroed = true;
    }
  }
  if (zeroed) fdatasyncSync(file);
  return pages;
}

function* reads(ranges: readonly PageRange[], pages: number): Generator<{ from: number; count: number }> {
  for (const range of ranges) {
    const until = Math.min(range.until, pages + 1);
    for (let from = range.from; from < until; from += PAGES_AT_ONCE) {
      yield { from, count: Math.min(PAGES_AT_ONCE, until - from) };
    }
  }
}

/**
 * Tells which pages say where others belong: they begin with any of the bytes that pages of cells begin with. To be
 * known before anything is zeroed, these stand in every file that can give pages back.
 */
function getPointerMap(file: number, pageBytes: number): (page: number) => boolean {
  const header = Buffer.alloc(FILE_HEADER_BYTES);
  readSync(file, header, 0, header.length, 0);
  if (header.readUInt32BE(MAX_ROOT_PLACE) === 0) return () => false;
  // Each is followed by as many pages as it has entries; the first is the second page of the file.
  const every = Math.floor((pageBytes - header.readUInt8(RESERVED_PLACE)) / POINTER_BYTES) + 1;
  // The page that holds the bytes of file locks holds nothing else, and one that would stand there comes after it.
  const lockPage = Math.floor(LOCK_BYTE / pageBytes) + 1;
  return (page) => (page - 2) % every === 0 || (page === lockPage + 1 && (lockPage - 2) % every === 0);
}

interface Gap {
  start: number;
  end: number;
}

/** The gap of a page where it is not all zero, or whatever it is. */
function getResidue(bytes: Buffer, page: number, anew: boolean): Gap | undefined {
  const gap = getGap(bytes, page === 1 ? FILE_HEADER_BYTES : 0);
  return gap && (anew || !isZero(bytes, gap)) ? gap : undefined;
}

function getGap(page: Buffer, header: number): Gap | undefined {
  const headerBytes = HEADER_BYTES.get(page[header] as number);
  if (headerBytes === undefined) return undefined;
  const cells = page.readUInt16BE(header + 3);
  // 0 stands for 65,536, which a page of that size without cells has.
  const end = page.readUInt16BE(header + 5) || 65_536;
  const start = header + headerBytes + cells * 2;
  return start < end && end <= page.length ? { start, end } : undefined;
}

function isZero(page: Buffer, { start, end }: Gap): boolean {
  for (let at = start; at < end; at++) if (page[at] !== 0) return false;
  return true;
}

const PURGE = 'purge_asked';
const PROGRESS = 'purge_page';

/**
 * Notes, in the transaction that deletes, that bytes of deleted content may still stand in the file. No two requests are the
 * same, though one was closed before the other came: another process may be on its way through the file for the first.
 */
export function askForPurge(connection: Connection): void {
  writeProperty(connection, PURGE, randomBytes(16).toString('hex'));
}

/** Which request for a purge is the newest; undefined when none is open. */
export function askedPurge(connection: Connection): string | undefined {
  return readProperty(connection, PURGE);
}

/** Notes how far the file has been gone through; being a commit, it also ends other processes' copies of its pages. */
export function notePurged(connection: Connection, untilPage: number): void {
  writeProperty(connection, PROGRESS, `${untilPage} at ${process.pid} ${performance.now()}`);
}

/** Closes a request, unless a newer one has come meanwhile. */
export function closePurge(connection: Connection, asked: string): void {
  sql(connection, 'DELETE FROM property WHERE name = ? AND value = ?').run(PURGE, asked);
}
