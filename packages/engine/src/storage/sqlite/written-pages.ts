import { closeSync, openSync, readSync } from 'node:fs';
import type { Connection } from './connection.ts';
import { FRAME_HEADER_BYTES, LOG_HEADER_BYTES, logPath } from './file.ts';
import type { PageRange } from './residue.ts';

/** Pages that are noted at most: 256 MiB of pages of 8 KiB. Reading one by one what is more takes longer than reading the file. */
const MAX_NOTED = 2 ** 15;

/** Frames of the log at which it is written into the file, as SQLite does of itself (`PRAGMA wal_autocheckpoint`). */
const CHECKPOINT_FRAMES = 1000;

/** Where the log's header, and that of each frame, have the salt of the log (sqlite.org/fileformat2.html, section 4.1). */
const SALT_AT = 16;
const FRAME_SALT_AT = 8;
const SALT_BYTES = 8;

/** Each frame begins with the number of its page. */
const PAGE_NUMBER_BYTES = 4;

/**
 * Which pages a connection has written since the file was last cleared of residue, so that a purge need not read the
 * whole file. They are read from the log before it is begun anew.
 *
 * Where something else may have written, the pages are not known: before the first purge, after a commit of another
 * connection, and after more pages than are noted.
 */
export class WrittenPages {
  readonly #connection: Connection;
  readonly #maxNoted: number;
  readonly #path: string;
  readonly #pageBytes: number;
  readonly #buffer = Buffer.alloc(SALT_BYTES);
  /** The log, which stays where it is while the connection is open. */
  #file: number | undefined;
  /** Undefined where the pages are not known. */
  #noted: Set<number> | undefined;
  /** Whether all that was written before has been cleared. */
  #isCleared = false;
  /** Of the log: its salt, how many of its frames are noted, and whether there are more. */
  #salt = 0n;
  #frames = 0;
  #isBehind = false;
  #version = 0;

  constructor(connection: Connection, maxNoted = MAX_NOTED) {
    this.#connection = connection;
    this.#maxNoted = maxNoted;
    this.#path = logPath(connection.name);
    this.#pageBytes = connection.pragma('page_size', { simple: true }) as number;
  }

  /** Begins anew with no pages, as a purge begins. To be called in a transaction that can write, with an empty log. */
  begin(): void {
    this.#noted = new Set();
    this.#isCleared = false;
    this.#salt = 0n;
    this.#frames = 0;
    this.#isBehind = false;
    this.#version = this.#getVersion();
    // SQLite would begin the log anew before it is read.
    this.#connection.pragma('wal_autocheckpoint = 0');
  }

  /** To be called when the purge that began has gone through all pages. Until then they are not known. */
  finish(): void {
    this.#isCleared = true;
  }

  /** Gives up what is noted: the next purge reads the whole file. */
  giveUp(): void {
    this.#noted = undefined;
    this.#connection.pragma(`wal_autocheckpoint = ${CHECKPOINT_FRAMES}`);
  }

  /** To be called after each commit, before the next. */
  noteCommit(): void {
    this.#attempt(() => {
      this.#followLog();
      this.#isBehind = true;
      // Asking SQLite how many frames there are takes ten times as long.
      if (this.#readSalt(this.#frameAt(CHECKPOINT_FRAMES - 1) + FRAME_SALT_AT) !== this.#salt) return;
      this.#noteFrames();
      this.#connection.pragma('wal_checkpoint(PASSIVE)');
    });
  }

  /** To be called before the log is emptied. */
  noteLog(): void {
    if (!this.#isBehind) return;
    this.#attempt(() => {
      this.#followLog();
      this.#noteFrames();
    });
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  // What was committed stands, whatever cannot be read of it.
  #attempt(note: () => void): void {
    if (!this.#noted) return;
    try {
      note();
    } catch {
      this.giveUp();
    }
  }

  #followLog(): void {
    const salt = this.#readSalt(SALT_AT);
    if (salt === this.#salt) return;
    if (this.#isBehind) throw new Error('the log was begun anew before it was read');
    this.#salt = salt;
    this.#frames = 0;
  }

  #noteFrames(): void {
    const noted = this.#noted as Set<number>;
    const [counts] = this.#connection.pragma('wal_checkpoint(NOOP)') as [{ log: number }];
    for (; this.#frames < counts.log; this.#frames++) {
      noted.add(this.#readLog(this.#frameAt(this.#frames), PAGE_NUMBER_BYTES).readUInt32BE());
    }
    this.#isBehind = false;
    if (noted.size > this.#maxNoted) this.giveUp();
  }

  #frameAt(frame: number): number {
    return LOG_HEADER_BYTES + frame * (FRAME_HEADER_BYTES + this.#pageBytes);
  }

  /** Zero where the log ends before. */
  #readSalt(at: number): bigint {
    return this.#readLog(at, SALT_BYTES).readBigUInt64BE();
  }

  #readLog(at: number, bytes: number): Buffer {
    this.#file ??= openSync(this.#path, 'r');
    this.#buffer.fill(0);
    readSync(this.#file, this.#buffer, 0, bytes, at);
    return this.#buffer;
  }

  /** Returns what has been written, in the file's order; undefined where that is not known. To be called in a transaction. */
  getRanges(): PageRange[] | undefined {
    if (!this.#noted || !this.#isCleared || this.#getVersion() !== this.#version) return undefined;
    const ranges: PageRange[] = [];
    for (const page of [...this.#noted].sort((a, b) => a - b)) {
      const last = ranges.at(-1);
      if (last?.until === page) last.until++;
      else ranges.push({ from: page, until: page + 1 });
    }
    return ranges;
  }

  /** Changes when another connection commits. */
  #getVersion(): number {
    return this.#connection.pragma('data_version', { simple: true }) as number;
  }
}
