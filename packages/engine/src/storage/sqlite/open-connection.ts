import { statSync } from 'node:fs';
import { MemoryError } from '@memoryd/contract/errors';
import Sqlite from 'better-sqlite3';
import { DamagedDatabase } from '../damage.ts';
import type { Connection } from './connection.ts';
import { assertLogCanGo, FRAME_HEADER_BYTES, hasLog, LOG_HEADER_BYTES, logBytes } from './file.ts';
import { assertOurs } from './migrate-file.ts';

const PAGE_BYTES = 8192;

/** The mode of a file that gives its free pages back when told to (`PRAGMA auto_vacuum`). */
export const INCREMENTAL = 2;

/** How long a statement waits for a lock that another process holds. */
const BUSY_TIMEOUT_MS = 5000;

/**
 * Opens a connection for writing, unless the file is not ours, or is damaged where that shows at once. Each commit is on
 * disk when it returns (`synchronous=FULL` in WAL mode syncs the log at every commit), and deleted content is
 * overwritten with zeros.
 */
export function openForWriting(path: string): Connection {
  assertUsable(path);
  const connection = new Sqlite(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    prepareForWriting(connection);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

// Before anything is written: the journal mode would be, and even closing would write a log into the file and remove it,
// but for a connection that can only read. One that can only read would leave a log of its own where there is none.
function assertUsable(path: string): void {
  const connection = new Sqlite(path, { timeout: BUSY_TIMEOUT_MS, readonly: hasLog(path) });
  try {
    hardenReading(connection);
    assertOurs(connection);
    assertWhole(connection, path);
  } finally {
    connection.close();
  }
}

function prepareForWriting(connection: Connection): void {
  hardenReading(connection);
  if (isEmpty(connection)) {
    // Reading all entries takes half the time that it takes with 4 KiB, and writing as long. Before the other.
    connection.pragma(`page_size = ${PAGE_BYTES}`);
    connection.pragma(`auto_vacuum = ${INCREMENTAL}`);
  }
  connection.pragma('journal_mode = WAL');
  connection.pragma('synchronous = FULL');
  connection.pragma('secure_delete = ON');
  connection.pragma('temp_store = MEMORY');
}

/** Lets a damaged page be an error rather than content. */
function hardenReading(connection: Connection): void {
  connection.pragma('cell_size_check = ON');
}

function isEmpty(connection: Connection): boolean {
  return connection.pragma('page_count', { simple: true }) === 0;
}

/**
 * Opens a file of ours that others may be using, to read all of it. Beside a file that nobody uses, nothing stays when
 * the connection is closed; what a crash left beside one stays as it is. UNAVAILABLE where something would stay.
 */
export function openAsItIs(path: string): Connection {
  assertLogCanGo(path);
  // A connection that can write takes the log away when it is the last, having written it into the file.
  const connection = new Sqlite(path, { timeout: BUSY_TIMEOUT_MS, fileMustExist: true, readonly: hasLog(path) });
  try {
    hardenReading(connection);
    assertOurs(connection);
    if (isEmpty(connection)) throw new MemoryError('UNAVAILABLE', 'the file is empty');
    connection.pragma('temp_store = MEMORY');
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Opens a connection that sees each commit at its next statement and cannot write. */
function openForReading(path: string, cacheMib: number): Connection {
  const connection = new Sqlite(path, { timeout: BUSY_TIMEOUT_MS, readonly: true });
  try {
    hardenReading(connection);
    connection.pragma(`cache_size = ${-cacheMib * 1024}`);
    connection.pragma('temp_store = MEMORY');
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** A thread's connection that cannot write, opened when it is first asked for. */
interface LazyConnection {
  /** UNAVAILABLE after `close`. */
  open(): Connection;
  close(): void;
}

// Opened at the first call rather than with the thread, so that a file that cannot be read is an answer and no crash.
export function lazyConnection(path: string, cacheMib: number): LazyConnection {
  let opened: Connection | undefined;
  let closed = false;
  return {
    open() {
      if (closed) throw new MemoryError('UNAVAILABLE', 'the database is closed');
      opened ??= openForReading(path, cacheMib);
      return opened;
    },
    close() {
      closed = true;
      opened?.close();
    },
  };
}

/** Times that it is looked, since another process may grow or shrink the file meanwhile. */
const LOOKS = 3;

/**
 * Throws DamagedDatabase for a file that has lost its end. SQLite looks for that only where there is no log, which may hold
 * the last pages; but no more of them than it has frames.
 */
function assertWhole(connection: Connection, path: string): void {
  let missing = 0;
  for (let look = 0; look < LOOKS; look++) {
    missing = missingPages(connection, path);
    if (missing <= 0) return;
  }
  throw new DamagedDatabase(`${missing} of its pages are missing`);
}

// In this order: what leaves the log stands in the file before.
function missingPages(connection: Connection, path: string): number {
  const pages = connection.pragma('page_count', { simple: true }) as number;
  const pageBytes = connection.pragma('page_size', { simple: true }) as number;
  const frames = Math.ceil((logBytes(path) - LOG_HEADER_BYTES) / (FRAME_HEADER_BYTES + pageBytes));
  return pages - Math.max(0, frames) - Math.floor(statSync(path).size / pageBytes);
}
