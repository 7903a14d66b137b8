import { constants, existsSync } from 'node:fs';
import { access, stat, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Finding, formatBytes } from './finding.ts';

/** Free space below which writes may soon fail. */
const MIN_FREE_BYTES = 64 * 1024 * 1024;

/** The file system type of tmpfs on Linux (`man 2 statfs`). */
const TMPFS_MAGIC = 0x01021994;

/**
 * Checks that the database path is writable, has free space, is not in a memory file system (tmpfs), and is readable
 * only by its owner.
 */
export async function checkDisk(dbPath: string): Promise<Finding[]> {
  const folder = existingFolder(dbPath);
  const accessProblem =
    (await findAccessProblem(folder, constants.W_OK | constants.X_OK)) ??
    (existsSync(dbPath) ? await findAccessProblem(dbPath, constants.R_OK | constants.W_OK) : undefined);
  if (accessProblem !== undefined) return [accessProblem];
  return [await checkFreeSpace(folder, dbPath), ...(await checkPermissions(dbPath))];
}

async function findAccessProblem(path: string, mode: number): Promise<Finding | undefined> {
  try {
    await access(path, mode);
    return undefined;
  } catch (error) {
    const found = `${path} cannot be written (${(error as NodeJS.ErrnoException).code})`;
    return { check: 'disk', state: 'problem', found, advice: 'change its permissions, or set another --db-path' };
  }
}

/** Returns the nearest existing parent folder of a path. */
export function existingFolder(dbPath: string): string {
  let folder = dirname(resolve(dbPath));
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

async function checkFreeSpace(folder: string, dbPath: string): Promise<Finding> {
  const { bavail, bsize, type } = await statfs(folder);
  const free = bavail * bsize;
  const { size } = await stat(dbPath).catch(() => ({ size: 0 }));
  const found = `${formatBytes(free)} free in ${folder}`;
  if (free < MIN_FREE_BYTES) {
    return { check: 'disk', state: 'problem', found, advice: 'free disk space: stores fail on a full disk' };
  }
  if (type === TMPFS_MAGIC) {
    const advice = 'this file system is in memory and is lost on restart; set --db-path to a folder on a disk';
    return { check: 'disk', state: 'warning', found, advice };
  }
  if (free < size) {
    const advice = `free disk space: a backup next to the database needs ${formatBytes(size)}`;
    return { check: 'disk', state: 'warning', found, advice };
  }
  return { check: 'disk', state: 'ok', found };
}

async function checkPermissions(dbPath: string): Promise<Finding[]> {
  // Windows has no file modes.
  if (!existsSync(dbPath) || process.platform === 'win32') return [];
  const { mode } = await stat(dbPath);
  if ((mode & 0o077) === 0) return [];
  const found = `${dbPath} has mode ${(mode & 0o777).toString(8)}: other users of the machine may read it`;
  return [{ check: 'disk', state: 'warning', found, advice: `chmod 600 ${dbPath}` }];
}
