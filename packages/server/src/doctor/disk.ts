import { constants, existsSync } from 'node:fs';
import { access, stat, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Finding, getSize } from './finding.ts';

/** Below it, a write may soon be refused. */
const MIN_FREE_BYTES = 64 * 1024 * 1024;

/** What Linux calls a file system in memory (`man 2 statfs`). */
const TMPFS_MAGIC = 0x01021994;

/** Whether the database can be written where it is to be, has room, is on a disk, and is for its owner alone. */
export async function checkDisk(dbPath: string): Promise<Finding[]> {
  const folder = existingFolder(dbPath);
  const refused =
    (await refusedWriting(folder, constants.W_OK | constants.X_OK)) ??
    (existsSync(dbPath) ? await refusedWriting(dbPath, constants.R_OK | constants.W_OK) : undefined);
  if (refused !== undefined) return [refused];
  return [await roomIn(folder, dbPath), ...(await getRights(dbPath))];
}

async function refusedWriting(path: string, mode: number): Promise<Finding | undefined> {
  try {
    await access(path, mode);
    return undefined;
  } catch (error) {
    const found = `${path} cannot be written (${(error as NodeJS.ErrnoException).code})`;
    return { check: 'disk', state: 'problem', found, advice: 'change its rights, or name another by --db-path' };
  }
}

/** The nearest folder of a path that is there. */
export function existingFolder(dbPath: string): string {
  let folder = dirname(resolve(dbPath));
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

async function roomIn(folder: string, dbPath: string): Promise<Finding> {
  const { bavail, bsize, type } = await statfs(folder);
  const free = bavail * bsize;
  const { size } = await stat(dbPath).catch(() => ({ size: 0 }));
  const found = `${getSize(free)} free in ${folder}`;
  if (free < MIN_FREE_BYTES) {
    return { check: 'disk', state: 'problem', found, advice: 'make room: stores are refused on a full disk' };
  }
  if (type === TMPFS_MAGIC) {
    const advice = 'it is kept in memory and gone after a restart; name a folder on a disk by --db-path';
    return { check: 'disk', state: 'warning', found, advice };
  }
  if (free < size) {
    const advice = `make room: a backup beside the database needs ${getSize(size)}`;
    return { check: 'disk', state: 'warning', found, advice };
  }
  return { check: 'disk', state: 'ok', found };
}

async function getRights(dbPath: string): Promise<Finding[]> {
  // Windows knows no such rights.
  if (!existsSync(dbPath) || process.platform === 'win32') return [];
  const { mode } = await stat(dbPath);
  if ((mode & 0o077) === 0) return [];
  const found = `${dbPath} has mode ${(mode & 0o777).toString(8)}: others of this machine may read it`;
  return [{ check: 'disk', state: 'warning', found, advice: `chmod 600 ${dbPath}` }];
}
