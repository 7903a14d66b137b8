import { randomBytes } from 'node:crypto';
import { fdatasyncSync, fstatSync, readSync, writeSync } from 'node:fs';
import { type Connection, readProperty, sql, writeProperty } from './connection.ts';

/*
 * SQLite's `secure_delete` overwrites deleted cells with zeros. But when SQLite rearranges a page, old copies of cells
 * remain in the gap between the cell pointers and the cells. These copies are not overwritten when the text is deleted
 * later. SQLite never reads the gap, so the gap can be zeroed directly in the file.
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

/** Offset in the file header of the number of reserved bytes at the end of each page. */
const RESERVED_OFFSET = 20;
/**
 * Offset in the file header of the largest root page: 0 in a file without auto-vacuum, which has no pointer map pages.
 */
const MAX_ROOT_OFFSET = 52;

/** Bytes of an entry in a pointer map page (section 1.8). */
const POINTER_BYTES = 5;

/** File offset of the bytes that SQLite uses for locks. */
const LOCK_OFFSET = 0x4000_0000;

/** Pages per read. */
const PAGES_AT_ONCE = 256;

/**
 * A supported file has fewer pages than this number. Overflow pages and free-list trunk pages start with a four-byte
 * page number. Below this limit, the first byte of the number is 0, so such a page is never mistaken for a b-tree page.
 */
const MAX_PAGES = 2 ** 24;

/** A range of pages: `from` is inclusive, `until` is exclusive. The first page of a file is 1. */
export interface PageRange {
  from: number;
  until: number;
}

/**
 * Zeroes the gaps of existing pages, and syncs the file. Other connections must be unable to write: the log must be
 * empty, and the caller must have the write lock.
 *
 * @param rewrite true to write every gap, even if it already reads as zeros. Needed after a failed sync: the page cache
 * may show zeros that never reached the disk (Rebello et al. 2020, "Can applications recover from fsync failures?")
 * @returns number of pages in the file
 */
export function zeroGaps(file: number, pageBytes: number, ranges: readonly PageRange[], rewrite = false): number {
  const pages = fstatSync(file).size / pageBytes;
  if (pages >= MAX_PAGES)
    throw new Error(
      `forgotten texts can be purged only if the database file has fewer than ${MAX_PAGES} pages, but the file has ` +
        `${pages}; move a part of the memories to another database`,
    );
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
 * Returns a predicate for pointer map pages, which files with auto-vacuum have. Pointer map pages must be skipped,
 * because their first byte can be the same as in a b-tree page.
 */
function createPointerMapCheck(file: number, pageBytes: number): (page: number) => boolean {
  const header = Buffer.alloc(FILE_HEADER_BYTES);
  readSync(file, header, 0, header.length, 0);
  if (header.readUInt32BE(MAX_ROOT_OFFSET) === 0) return () => false;
  // Page 2 is the first pointer map page. Each pointer map page has one entry for each of the pages that follow it.
  const every = Math.floor((pageBytes - header.readUInt8(RESERVED_OFFSET)) / POINTER_BYTES) + 1;
  // The page with the lock bytes is unused. A pointer map page that would be at that position is the next page instead.
  const lockPage = Math.floor(LOCK_OFFSET / pageBytes) + 1;
  return (page) => (page - 2) % every === 0 || (page === lockPage + 1 && (lockPage - 2) % every === 0);
}

interface Gap {
  start: number;
  end: number;
}

/**
 * Returns the gap of a page if the gap has nonzero bytes. With `rewrite`, returns the gap even if all of its bytes are
 * zero.
 */
function getGapToZero(bytes: Buffer, page: number, rewrite: boolean): Gap | undefined {
  const gap = getGap(bytes, page === 1 ? FILE_HEADER_BYTES : 0);
  return gap && (rewrite || !isZero(bytes, gap)) ? gap : undefined;
}

function getGap(page: Buffer, header: number): Gap | undefined {
  const headerBytes = HEADER_BYTES.get(page[header] as number);
  if (headerBytes === undefined) return undefined;
  const cells = page.readUInt16BE(header + 3);
  // SQLite stores the offset 65,536 as 0. Only a page of 65,536 bytes without cells has this offset.
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
 * Requests a purge, in the transaction that deletes the texts. Each request has a unique id, because another process
 * may still be working on an earlier request.
 */
export function requestPurge(connection: Connection): void {
  writeProperty(connection, REQUEST_PROPERTY, randomBytes(16).toString('hex'));
}

/** Returns the id of the newest purge request, or undefined if no request is open. */
export function getPurgeRequest(connection: Connection): string | undefined {
  return readProperty(connection, REQUEST_PROPERTY);
}

/**
 * Stores the progress of a purge. The commit also makes other processes discard their page caches, which contain old
 * gaps.
 */
export function notePurgeProgress(connection: Connection, untilPage: number): void {
  writeProperty(connection, PROGRESS_PROPERTY, `${untilPage} at ${process.pid} ${performance.now()}`);
}

/** Closes a purge request, unless a newer request has replaced it. */
export function closePurgeRequest(connection: Connection, id: string): void {
  sql(connection, 'DELETE FROM property WHERE name = ? AND value = ?').run(REQUEST_PROPERTY, id);
}
