import { accessSync, closeSync, constants, existsSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MemoryError } from '@memoryd/contract/errors';

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
  if (sizeOf(path) > 0 || !hasLog(path)) return;
  throw new MemoryError(
    'UNAVAILABLE',
    `the database file ${path} is missing or empty, but its log ${path}-wal is not; put the file back, or take the log away`,
  );
}

/** Whether a log with commits lies beside the file: another process has it open, or one that had was killed. */
export function hasLog(path: string): boolean {
  return logBytes(path) > 0;
}

/** Size of the log beside the file; 0 where there is none. */
export function logBytes(path: string): number {
  return sizeOf(`${path}-wal`);
}

/** 0 for a file that is not there. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

// A folder is on disk when the one that names it has been synced. SQLite syncs the one that names its files.
function makeFolder(folder: string): void {
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (first === undefined || process.platform === 'win32') return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) syncFolder(dirname(made));
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
