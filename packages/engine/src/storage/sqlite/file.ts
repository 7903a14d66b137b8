import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  statSync,
} from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MemoryError } from '@memoryd/contract/errors';
import Sqlite from 'better-sqlite3';
import { DamagedDatabase } from '../damage.ts';

/**
 * Makes the database file and its folders where they are missing, for the owner alone; SQLite gives the files that it
 * puts beside it the same mode. UNAVAILABLE when the path cannot be written, or a log lies there without its file.
 */
export function prepareFile(path: string): void {
  try {
    makeFolder(dirname(path));
    assertNotLost(path);
    // Not opened where it exists: closing it would end the locks that this process may hold on it (POSIX).
    if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
    // SQLite would open for reading what cannot be written, and leave a log beside it that cannot be written either.
    for (const place of [path, dirname(path)]) accessSync(place, constants.R_OK | constants.W_OK);
  } catch (error) {
    if (error instanceof MemoryError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new MemoryError('UNAVAILABLE', `the database file ${path} cannot be written (${code})`, { cause: error });
  }
}

// SQLite takes the log of an empty file for one that was left over, and deletes it.
function assertNotLost(path: string): void {
  if (getSize(path) > 0 || !hasLog(path)) return;
  throw new MemoryError(
    'UNAVAILABLE',
    `the database file ${path} is missing or empty, but its log ${logPath(path)} is not; put the file back, or take the log away`,
  );
}

/** Whether a log with commits lies beside the file: another process has it open, or one that had was killed. */
export function hasLog(path: string): boolean {
  return logBytes(path) > 0;
}

/**
 * Refuses a file to which SQLite would give a log that it cannot take away again, as it cannot write the file: one with the
 * same mode, that keeps the file from being opened when it may be written again.
 */
export function assertLogCanGo(path: string): void {
  // What is not there, or cannot be read, SQLite itself refuses.
  if (isAllowed(path, constants.W_OK) || !isAllowed(path, constants.R_OK) || hasLog(path) || !usesLog(path)) return;
  throw new MemoryError(
    'UNAVAILABLE',
    `the database file ${path} cannot be written, and reading it would leave a log beside it; copy it, and read the copy`,
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

/** Where a file says whether it is read with a log, and what it says then (sqlite.org/fileformat2.html, 1.3.3). */
const READ_VERSION_AT = 19;
const WITH_LOG = 2;

// Opened only where it cannot be written, so that closing it ends no lock of a writer in this process.
function usesLog(path: string): boolean {
  const opened = openSync(path, 'r');
  try {
    const version = Buffer.alloc(1);
    readSync(opened, version, 0, 1, READ_VERSION_AT);
    return version[0] === WITH_LOG;
  } finally {
    closeSync(opened);
  }
}

/** Bytes of the log before its frames, and of each frame before its page (sqlite.org/fileformat2.html, section 4.1). */
export const LOG_HEADER_BYTES = 32;
export const FRAME_HEADER_BYTES = 24;

/** Returns the path of the log of a database file. */
export function logPath(path: string): string {
  return `${path}-wal`;
}

/** Size of the log beside the file; 0 where there is none. */
export function logBytes(path: string): number {
  return getSize(logPath(path));
}

/** 0 for a file that is not there. */
function getSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * Makes a folder where it is missing, and those that it lies in, for the owner alone: all of them on disk. Throws what the
 * file system says.
 */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  const parent = dirname(folder);
  // One by one: told to make several, Node tries for ever where a file system takes none into a folder that is there.
  if (parent !== folder) makeFolder(parent);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process made it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  // A folder is on disk when the one that names it has been synced. SQLite syncs the one that names its files.
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

/** Bytes of the database on disk: the file and the log that belongs to it. UNAVAILABLE when the file is gone. */
/** Bytes that the disk of a database needs to have left: SQLite needs some for any write, and the log of a run more. */
const MIN_FREE_BYTES = 1024 * 1024;

/** Returns how large the disk of a database is, and how much of it is free. */
export async function diskSpace(path: string): Promise<{ diskFreeBytes: number; diskSizeBytes: number }> {
  const { bavail, blocks, bsize } = await statfs(dirname(path));
  return { diskFreeBytes: bavail * bsize, diskSizeBytes: blocks * bsize };
}

/** Throws UNAVAILABLE where the disk of a database is about full. */
export async function assertRoom(path: string): Promise<void> {
  const { diskFreeBytes } = await diskSpace(path);
  if (diskFreeBytes >= MIN_FREE_BYTES) return;
  throw new MemoryError('UNAVAILABLE', 'the disk is full; free some space');
}

export async function sizeOnDisk(path: string): Promise<number> {
  const [file, log] = await Promise.all([
    stat(path).catch((cause: unknown) => {
      throw new MemoryError('UNAVAILABLE', 'the database file is not where it was', { cause });
    }),
    stat(`${path}-wal`).catch(() => ({ size: 0 })),
  ]);
  return file.size + log.size;
}

/** Names the file that stands at a path: another file there, or none, has another identity. */
export function fileIdentity(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats ? `${stats.dev}:${stats.ino}` : 'none';
}

/** Whether an error says that what was read cannot have been written: SQLite's of a page, or the adapter's of a row. */
export function isDamage(error: unknown): error is Error {
  return (
    error instanceof DamagedDatabase ||
    (error instanceof Sqlite.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code))
  );
}
