import { statSync } from 'node:fs';
import { MemoryError } from '@memoryd/contract/errors';
import { CorruptDatabaseError } from '@memoryd/core';
import type { Connection } from './connection.ts';
import { connect } from './descriptors.ts';
import { assertLogRemovable, FRAME_HEADER_BYTES, hasLog, LOG_HEADER_BYTES, logBytes } from './file.ts';
import { assertMemorydFile } from './migrate.ts';

const PAGE_BYTES = 8192;

/** Value of `PRAGMA auto_vacuum` for incremental vacuum. */
export const INCREMENTAL = 2;

/** Maximum wait for locks of other connections, in ms. */
const BUSY_TIMEOUT_MS = 5000;

/**
 * Opens a connection for writing. Throws UNAVAILABLE if the file is not a memoryd database, is from a newer memoryd, is
 * truncated or has several hard links. Each commit is on disk when it returns (`synchronous=FULL` in WAL
 * mode syncs the log at every commit), and deleted content is overwritten with zeros.
 */
export function openForWriting(path: string): Connection {
  assertOneName(path);
  assertUsable(path);
  const connection = connect(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    prepareForWriting(connection);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

// SQLite finds the log of a file by the name of the file. Writers that use different names of one file have different
// logs, so they would overwrite each other's commits.
function assertOneName(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  // A folder has a link for each folder in it. SQLite reports that it is no file.
  if (!stats?.isFile() || stats.nlink === 1) return;
  throw new MemoryError(
    'UNAVAILABLE',
    `the database file ${path} has ${stats.nlink} names (hard links), and writers with different names would overwrite each ` +
      'other; delete the other names, or open a copy of the file',
  );
}

// Runs before anything is written. A writable connection would change the file: setting the journal mode writes to the
// file, and closing the connection checkpoints and removes the log. So a file with a log is opened read-only. A file
// without a log is not, because a read-only connection would create a log and leave it behind.
function assertUsable(path: string): void {
  const connection = connect(path, { timeout: BUSY_TIMEOUT_MS, readonly: hasLog(path) });
  try {
    hardenReading(connection);
    assertMemorydFile(connection);
    assertNotTruncated(connection, path);
  } finally {
    connection.close();
  }
}

function prepareForWriting(connection: Connection): void {
  hardenReading(connection);
  if (isEmpty(connection)) {
    // With 8 KiB pages, reading all index entries takes half as long as with 4 KiB pages, and writing takes the same
    // time. The page size must be set before `journal_mode`.
    connection.pragma(`page_size = ${PAGE_BYTES}`);
    connection.pragma(`auto_vacuum = ${INCREMENTAL}`);
  }
  connection.pragma('journal_mode = WAL');
  connection.pragma('synchronous = FULL');
  connection.pragma('secure_delete = ON');
  connection.pragma('temp_store = MEMORY');
}

/**
 * Makes SQLite check the cells of each page read from the file, so that more corrupted pages are reported as errors.
 */
function hardenReading(connection: Connection): void {
  connection.pragma('cell_size_check = ON');
}

function isEmpty(connection: Connection): boolean {
  return connection.pragma('page_count', { simple: true }) === 0;
}

/**
 * Opens a memoryd file for reading without migrating it, even if a server uses the file. Leaves no log in the folder of
 * a file that had none, and does not change the log of a crashed process. Throws UNAVAILABLE if the file is empty, not
 * a memoryd database or from a newer memoryd, or if SQLite would create a log that it could not remove.
 *
 * @param name the file in messages, such as the path as the caller gave it
 */
export function openWithoutMigrating(path: string, name = path): Connection {
  assertLogRemovable(path);
  // A file with a log is opened read-only, because the last writable connection removes the log when the connection
  // closes.
  const connection = connect(path, { timeout: BUSY_TIMEOUT_MS, fileMustExist: true, readonly: hasLog(path) });
  try {
    hardenReading(connection);
    assertMemorydFile(connection, name);
    if (isEmpty(connection)) {
      throw new MemoryError('UNAVAILABLE', `${name} is empty, so the file is not a memoryd database; check the path`);
    }
    connection.pragma('temp_store = MEMORY');
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Opens a read-only connection. Each statement sees the latest commit. */
function openForReading(path: string, cacheMib: number): Connection {
  const connection = connect(path, { timeout: BUSY_TIMEOUT_MS, readonly: true });
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

/** A read-only connection that is opened on first use. */
interface LazyConnection {
  /** Throws UNAVAILABLE after `close`. */
  open(): Connection;
  close(): void;
}

/**
 * Creates a connection that is opened at the first call, so that an unreadable file makes that call fail instead of
 * crashing the thread.
 */
export function lazyConnection(path: string, cacheMib: number): LazyConnection {
  let opened: Connection | undefined;
  let closed = false;
  return {
    open() {
      if (closed) throw new MemoryError('UNAVAILABLE', 'the database is closed; retry when it is open again');
      opened ??= openForReading(path, cacheMib);
      return opened;
    },
    close() {
      closed = true;
      opened?.close();
    },
  };
}

/**
 * Maximum attempts to compare the page count with the file size. Another process may resize the file between the two
 * reads.
 */
const MAX_ATTEMPTS = 3;

/**
 * Throws CorruptDatabaseError for a truncated file. SQLite detects truncation only for a file without a log, because a
 * log may contain the last pages. A log contains at most as many pages as it has frames.
 */
function assertNotTruncated(connection: Connection, path: string): void {
  let missing = 0;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    missing = missingPages(connection, path);
    if (missing <= 0) return;
  }
  throw new CorruptDatabaseError(`the file is truncated (missing pages: ${missing})`);
}

// Reads the log size before the file size, because a checkpoint writes pages to the file before it truncates the log.
function missingPages(connection: Connection, path: string): number {
  const pages = connection.pragma('page_count', { simple: true }) as number;
  const pageBytes = connection.pragma('page_size', { simple: true }) as number;
  const frames = Math.ceil((logBytes(path) - LOG_HEADER_BYTES) / (FRAME_HEADER_BYTES + pageBytes));
  return pages - Math.max(0, frames) - Math.floor(statSync(path).size / pageBytes);
}
