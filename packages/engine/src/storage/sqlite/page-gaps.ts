import { randomBytes } from 'node:crypto';
import { fdatasyncSync, fstatSync, readSync, writeSync } from 'node:fs';
import { type Connection, readProperty, sql, writeProperty } from './connection.ts';

/*
 * SQLite's `secure_delete` overwrites deleted cells with zeros. But when SQLite rearranges a page, old copies of cells
 * stay in the gap between the cell pointers and the cells, and are not overwritten when the text is deleted later.
 * SQLite never reads the gap, so it can be zeroed directly in the file.
 */

/** Header size of a b-tree page by its first byte (sqlite.org/fileformat2.html, section 1.6). */
const HEADER_BYTES = new Map([
  [0x02, 12],
  [0x05, 12],
  [0x0a, 8],
  [0x0d, 8],
]);

/** Size of the file header, which precedes the header of the first page. */
const FILE_HEADER_BYTES = 100;

/**
 * Offsets in the file header: the reserved bytes at the end of each page, and the largest root page, which is 0 in a
 * file without auto-vacuum. Such a file has no pointer map pages.
 */
const RESERVED_OFFSET = 20;
const MAX_ROOT_OFFSET = 52;

/** Bytes of an entry in a pointer map page (section 1.8). */
const POINTER_BYTES = 5;

/** File offset of the bytes that SQLite locks. */
const LOCK_OFFSET = 0x4000_0000;

/** Pages read at once. */
const PAGES_AT_ONCE = 256;

/**
 * Maximum pages of a supported file. Other page types start with a four-byte page number. Below this limit its first
 * byte is 0, so it is never mistaken for a b-tree page.
 */
const MAX_PAGES = 2 ** 24;

/** A range of pages: `from` is inclusive, `until` is exclusive. The first page of a file is 1. */
export interface PageRange {
  from: number;
  until: number;
}

/**
 * Zeroes the gaps of existing pages, and syncs. Call it only while nobody can write to the file: the log must be empty,
 * and the caller must hold the write lock.
 *
 * @param rewrite whether to write gaps that already read as zeros. After a failed sync, the system may treat data as
 *   written that is not on disk (Rebello et al. 2020, "Can applications recover from fsync failures?")
 * @returns number of pages in the file
 */
export function zeroGaps(file: number, pageBytes: number, ranges: readonly PageRange[], rewrite = false): number {
  const pages = fstatSync(file).size / pageBytes;
  if (pages >= MAX_PAGES)
    throw new Error(`the file has ${pages} pages, but forgotten texts can be purged from fewer than ${MAX_PAGES} only`);
  const isPointerMap = createPointerMapCheck(file, pageBytes);
  const buffer = Buffer.alloc(pageBytes * PAGES_AT_ONCE);
  let zeroed = false;
  for (const { from, count } of reads(ranges, pages)) {
    const read = readSync(file, buffer, 0, count * pageBytes, (from - 1) * pageBytes);
    for (let at = 0; at + pageBytes <= read; at += pageBytes) {
      const page = from + at / pageBytes;
      const gap = isPointerMap(page) ? undefined : getGapToZero(buffer.subarray(at, at + pageBytes), page, rewrite);
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
 * Returns a predicate for pointer map pages, which auto-vacuum files have. Their first byte can look like that of a
 * b-tree page, so they must be skipped.
 */
function createPointerMapCheck(file: number, pageBytes: number): (page: number) => boolean {
  const header = Buffer.alloc(FILE_HEADER_BYTES);
  readSync(file, header, 0, header.length, 0);
  if (header.readUInt32BE(MAX_ROOT_OFFSET) === 0) return () => false;
  // Page 2 is the first pointer map page. Each is followed by as many pages as it has entries.
  const every = Math.floor((pageBytes - header.readUInt8(RESERVED_OFFSET)) / POINTER_BYTES) + 1;
  // The page with the lock bytes is unused. A pointer map page that would be there comes right after it.
  const lockPage = Math.floor(LOCK_OFFSET / pageBytes) + 1;
  return (page) => (page - 2) % every === 0 || (page === lockPage + 1 && (lockPage - 2) % every === 0);
}

interface Gap {
  start: number;
  end: number;
}

/** Returns the gap of a page if it has nonzero bytes, or in any case with `rewrite`. */
function getGapToZero(bytes: Buffer, page: number, rewrite: boolean): Gap | undefined {
  const gap = getGap(bytes, page === 1 ? FILE_HEADER_BYTES : 0);
  return gap && (rewrite || !isZero(bytes, gap)) ? gap : undefined;
}

function getGap(page: Buffer, header: number): Gap | undefined {
  const headerBytes = HEADER_BYTES.get(page[header] as number);
  if (headerBytes === undefined) return undefined;
  const cells = page.readUInt16BE(header + 3);
  // 0 means 65,536: a page of that size without cells.
  const end = page.readUInt16BE(header + 5) || 65_536;
  const start = header + headerBytes + cells * 2;
  return start < end && end <= page.length ? { start, end } : undefined;
}

function isZero(page: Buffer, { start, end }: Gap): boolean {
  for (let at = start; at < end; at++) if (page[at] !== 0) return false;
  return true;
}

const REQUEST_PROPERTY = 'purge_asked';
const PROGRESS_PROPERTY = 'purge_page';

/**
 * Requests a purge, in the transaction that deletes. Each request has a unique id, because another process may still be
 * working on an earlier request.
 */
export function requestPurge(connection: Connection): void {
  writeProperty(connection, REQUEST_PROPERTY, randomBytes(16).toString('hex'));
}

/** Returns the id of the newest purge request, or undefined if none is open. */
export function getPurgeRequest(connection: Connection): string | undefined {
  return readProperty(connection, REQUEST_PROPERTY);
}

/** Stores the progress of a purge. This commit also invalidates the page caches of other processes. */
export function notePurgeProgress(connection: Connection, untilPage: number): void {
  writeProperty(connection, PROGRESS_PROPERTY, `${untilPage} at ${process.pid} ${performance.now()}`);
}

/** Closes a purge request, unless there is a newer one. */
export function closePurgeRequest(connection: Connection, id: string): void {
  sql(connection, 'DELETE FROM property WHERE name = ? AND value = ?').run(REQUEST_PROPERTY, id);
}
