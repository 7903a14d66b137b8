import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MemoryError } from '@memoryd/contract/errors';
import { CorruptDatabaseError } from '@memoryd/core';
import Sqlite from 'better-sqlite3';
import { createFile, openRaw } from './descriptors.ts';

/**
 * Creates the database file and its folders if they are missing, with owner-only permissions. SQLite gives its log and
 * its other files the permissions of the database file. Throws UNAVAILABLE if the path cannot be written, or if the log
 * is not empty but the database file is missing or empty.
 */
export function prepareFile(path: string): void {
  try {
    makeFolder(dirname(path));
    assertNoOrphanedLog(path);
    createFile(path);
    // SQLite would open a read-only file for reading, and leave a read-only log in its folder.
    for (const place of [path, dirname(path)]) accessSync(place, constants.R_OK | constants.W_OK);
  } catch (error) {
    if (error instanceof MemoryError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new MemoryError(
      'UNAVAILABLE',
      `the database file ${path} cannot be written (${code}); check the permissions of the file and its folder`,
      { cause: error },
    );
  }
}

// Throws UNAVAILABLE if the log is not empty but the database file is missing or empty. SQLite would delete such a log
// as a leftover.
function assertNoOrphanedLog(path: string): void {
  if (getSize(path) > 0 || !hasLog(path)) return;
  throw new MemoryError(
    'UNAVAILABLE',
    `the database file ${path} is missing or empty, but its log ${logPath(path)} is not; restore the file, or delete the log`,
  );
}

/** Returns true if the log is not empty: the file is open, or a process was killed while the file was open. */
export function hasLog(path: string): boolean {
  return logBytes(path) > 0;
}

/**
 * Throws UNAVAILABLE for a read-only file in WAL mode without a log. SQLite would create a log that is read-only too
 * and could not remove it. Such a log would prevent opening the file once the file is writable again.
 */
export function assertLogRemovable(path: string): void {
  // SQLite itself rejects a missing or unreadable file.
  if (isAllowed(path, constants.W_OK) || !isAllowed(path, constants.R_OK) || hasLog(path)) return;
  // An open database has a log, which is empty after a purge.
  if (!existsSync(logPath(path)) && !usesLog(path)) return;
  throw new MemoryError(
    'UNAVAILABLE',
    `the database file ${path} is read-only, and reading it would leave a log beside it; copy the file and read the copy`,
  );
}

function isAllowed(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

/** Offset of the read version in the file header (sqlite.org/fileformat2.html, section 1.3.3). */
const READ_VERSION_OFFSET = 19;
/** Read version of a file in WAL mode. */
const WAL_MODE = 2;

function usesLog(path: string): boolean {
  const opened = openRaw(path, { readonly: true });
  try {
    const version = Buffer.alloc(1);
    readSync(opened.descriptor, version, 0, 1, READ_VERSION_OFFSET);
    return version[0] === WAL_MODE;
  } finally {
    opened.close();
  }
}

/** Size of the log header (sqlite.org/fileformat2.html, section 4.1). */
export const LOG_HEADER_BYTES = 32;
/** Size of the header of each log frame (section 4.1). */
export const FRAME_HEADER_BYTES = 24;

/** Returns the path of the log of a database file. SQLite creates the log beside the target of a symbolic link. */
export function logPath(path: string): string {
  return `${existsSync(path) ? realpathSync(path) : path}-wal`;
}

/** Returns the size of the log in bytes; 0 if the file has no log. */
export function logBytes(path: string): number {
  return getSize(logPath(path));
}

/** Returns the size of a file in bytes; 0 for a missing file. */
function getSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * Creates a folder and its missing parents with owner-only permissions, and syncs them to disk. Throws errors of the
 * file system.
 */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  const parent = dirname(folder);
  // One folder per call, because a recursive mkdir of Node loops forever if the file system refuses to create folders.
  if (parent !== folder) makeFolder(parent);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process has created the folder since the check.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  // Syncing the parent makes a new folder durable. SQLite syncs the folder of its own files.
  if (process.platform !== 'win32') syncFolder(parent);
}

function syncFolder(folder: string): void {
  const opened = openSync(folder, 'r');
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}

/**
 * Minimum free bytes of the disk. Every write of SQLite needs free space, and the log of a consolidation run needs the
 * most.
 */
const MIN_FREE_BYTES = 1024 * 1024;

/** Returns the size and the free space of the disk with the database, in bytes. */
export async function diskSpace(path: string): Promise<{ diskFreeBytes: number; diskSizeBytes: number }> {
  const { bavail, blocks, bsize } = await statfs(dirname(path));
  return { diskFreeBytes: bavail * bsize, diskSizeBytes: blocks * bsize };
}

/** Throws UNAVAILABLE if the disk with the database has less than `MIN_FREE_BYTES` free. */
export async function assertRoom(path: string): Promise<void> {
  const { diskFreeBytes } = await diskSpace(path);
  if (diskFreeBytes >= MIN_FREE_BYTES) return;
  throw new MemoryError(
    'UNAVAILABLE',
    `the disk of the database is full (less than ${MIN_FREE_BYTES} bytes are free); free some space`,
  );
}

/** Returns the bytes of the database file and its log. Throws UNAVAILABLE if the file is missing. */
export async function sizeOnDisk(path: string): Promise<number> {
  const [file, log] = await Promise.all([
    stat(path).catch((cause: unknown) => {
      throw new MemoryError('UNAVAILABLE', 'the database file is missing; stop memoryd and restore a backup', {
        cause,
      });
    }),
    stat(logPath(path)).catch(() => ({ size: 0 })),
  ]);
  return file.size + log.size;
}

/** Returns true if an error reports corruption: of a page (by SQLite) or of a row (by this adapter). */
export function isCorruption(error: unknown): error is Error {
  return (
    error instanceof CorruptDatabaseError ||
    (error instanceof Sqlite.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code))
  );
}
