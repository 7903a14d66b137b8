import { closeSync, openSync, readSync } from 'node:fs';
import type { Connection } from './connection.ts';
import { FRAME_HEADER_BYTES, LOG_HEADER_BYTES, logPath } from './file.ts';
import type { PageRange } from './page-gaps.ts';

/**
 * Maximum tracked pages: 256 MiB with 8 KiB pages. For more pages, reading the whole file is faster than reading single
 * pages.
 */
const MAX_TRACKED = 2 ** 15;

/** Number of log frames that trigger a checkpoint: SQLite's default (`PRAGMA wal_autocheckpoint`). */
const CHECKPOINT_FRAMES = 1000;

/** Offset of the salt in the log header (sqlite.org/fileformat2.html, section 4.1). */
const SALT_OFFSET = 16;
/** Offset of the salt in a frame header (section 4.1). */
const FRAME_SALT_OFFSET = 8;
const SALT_BYTES = 8;

/** Size of the page number at the start of each frame. */
const PAGE_NUMBER_BYTES = 4;

/**
 * Tracks the pages that a connection has written since the last purge, so that the next purge reads only these pages
 * instead of the whole file. The page numbers are read from the log before SQLite restarts the log.
 *
 * The pages are unknown before the first purge, after a commit of another connection, after more pages than
 * `maxTracked` were written, and after an error.
 */
export class WrittenPages {
  readonly #connection: Connection;
  readonly #maxTracked: number;
  readonly #path: string;
  readonly #pageBytes: number;
  readonly #buffer = Buffer.alloc(SALT_BYTES);
  /** Descriptor of the log. SQLite does not replace the log file while the connection is open. */
  #file: number | undefined;
  /** Undefined if the pages are unknown. */
  #pages: Set<number> | undefined;
  /** True if the purge that started the tracking is complete. */
  #isCleared = false;
  /** Salt of the log at the last read; 0 before the first read. */
  #salt = 0n;
  /** Number of log frames whose page numbers have been read. */
  #frames = 0;
  /** True if the log may have unread frames. */
  #isBehind = false;
  #version = 0;

  constructor(connection: Connection, maxTracked = MAX_TRACKED) {
    this.#connection = connection;
    this.#maxTracked = maxTracked;
    this.#path = logPath(connection.name);
    this.#pageBytes = connection.pragma('page_size', { simple: true }) as number;
  }

  /**
   * Resets and starts the tracking at the start of a purge. Must be called in a write transaction with an empty log.
   */
  begin(): void {
    this.#pages = new Set();
    this.#isCleared = false;
    this.#salt = 0n;
    this.#frames = 0;
    this.#isBehind = false;
    this.#version = this.#getVersion();
    // SQLite's automatic checkpoint could restart the log before its page numbers are read.
    this.#connection.pragma('wal_autocheckpoint = 0');
  }

  /** Marks the purge as complete. Until then, the pages are unknown. */
  finish(): void {
    this.#isCleared = true;
  }

  /** Stops tracking. The next purge reads the whole file. */
  giveUp(): void {
    this.#pages = undefined;
    this.#connection.pragma(`wal_autocheckpoint = ${CHECKPOINT_FRAMES}`);
  }

  /** Must be called after each commit and before the next commit. */
  noteCommit(): void {
    this.#attempt(() => {
      this.#followLog();
      this.#isBehind = true;
      // Checks the salt of the frame that triggers a checkpoint. Querying SQLite for the number of frames takes ten
      // times as long.
      if (this.#readSalt(this.#frameAt(CHECKPOINT_FRAMES - 1) + FRAME_SALT_OFFSET) !== this.#salt) return;
      this.#readFrames();
      this.#connection.pragma('wal_checkpoint(PASSIVE)');
    });
  }

  /** Must be called before the log is truncated. */
  noteLog(): void {
    if (!this.#isBehind) return;
    this.#attempt(() => {
      this.#followLog();
      this.#readFrames();
    });
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  // Stops the tracking after an error, because a read error must not fail a commit that has succeeded.
  #attempt(note: () => void): void {
    if (!this.#pages) return;
    try {
      note();
    } catch {
      this.giveUp();
    }
  }

  #followLog(): void {
    const salt = this.#readSalt(SALT_OFFSET);
    if (salt === this.#salt) return;
    if (this.#isBehind) throw new Error('the write-ahead log was restarted before all its frames were read');
    this.#salt = salt;
    this.#frames = 0;
  }

  #readFrames(): void {
    const pages = this.#pages as Set<number>;
    const [counts] = this.#connection.pragma('wal_checkpoint(NOOP)') as [{ log: number }];
    for (; this.#frames < counts.log; this.#frames++) {
      pages.add(this.#readLog(this.#frameAt(this.#frames), PAGE_NUMBER_BYTES).readUInt32BE());
    }
    this.#isBehind = false;
    if (pages.size > this.#maxTracked) this.giveUp();
  }

  #frameAt(frame: number): number {
    return LOG_HEADER_BYTES + frame * (FRAME_HEADER_BYTES + this.#pageBytes);
  }

  /** Returns the salt at an offset of the log; zero beyond the end of the log. */
  #readSalt(at: number): bigint {
    return this.#readLog(at, SALT_BYTES).readBigUInt64BE();
  }

  #readLog(at: number, bytes: number): Buffer {
    this.#file ??= openSync(this.#path, 'r');
    this.#buffer.fill(0);
    readSync(this.#file, this.#buffer, 0, bytes, at);
    return this.#buffer;
  }

  /**
   * Returns the ranges of written pages in file order, or undefined if the written pages are unknown. Must be called in
   * a transaction.
   */
  getRanges(): PageRange[] | undefined {
    if (!this.#pages || !this.#isCleared || this.#getVersion() !== this.#version) return undefined;
    const ranges: PageRange[] = [];
    for (const page of [...this.#pages].sort((a, b) => a - b)) {
      const last = ranges.at(-1);
      if (last?.until === page) last.until++;
      else ranges.push({ from: page, until: page + 1 });
    }
    return ranges;
  }

  /** Returns a number that changes when another connection commits. */
  #getVersion(): number {
    return this.#connection.pragma('data_version', { simple: true }) as number;
  }
}
