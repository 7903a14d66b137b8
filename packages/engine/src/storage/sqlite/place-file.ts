import { access, constants, copyFile, type FileHandle, link, lstat, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MemoryError } from '@memoryd/contract/errors';
import { removeCopy, removeLeftCopies, temporaryBeside } from './copies.ts';

/** Refusals of a file system that knows no second name for a file. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/**
 * Makes a file under another name and gives it its own only when it is whole and on disk, so that nobody ever sees a part
 * of it. CONFLICT where the path is taken: nothing is overwritten. UNAVAILABLE where its folder is not there, takes no file
 * or has no room for it.
 *
 * @param make makes the file at the path that it is given, for the owner alone
 */
export async function placeFile<T>(path: string, make: (temporary: string) => Promise<T>): Promise<T> {
  await assertFree(path);
  await assertFolderOf(path);
  await removeLeftCopies(path);
  const temporary = temporaryBeside(path);
  try {
    const made = await make(temporary);
    await name(temporary, path);
    await syncFolder(dirname(path));
    return made;
  } catch (error) {
    throw isOfFileSystem(error) ? cannotBeMade(path, error) : error;
  } finally {
    await removeCopy(temporary);
  }
}

/** CONFLICT where there is anything at the path. */
export async function assertFree(path: string): Promise<void> {
  const there = await lstat(path).catch(() => undefined);
  if (there) throw taken(path);
}

async function assertFolderOf(path: string): Promise<void> {
  try {
    await access(dirname(path), constants.W_OK | constants.X_OK);
  } catch (error) {
    throw cannotBeMade(path, error);
  }
}

function isOfFileSystem(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).syscall !== undefined;
}

/** What is told of a path at which a file system makes nothing. */
export function cannotBeMade(path: string, cause: unknown): MemoryError {
  const { code } = cause as NodeJS.ErrnoException;
  return new MemoryError('UNAVAILABLE', `${path} cannot be made (${code})`, { cause });
}

function taken(path: string): MemoryError {
  return new MemoryError('CONFLICT', `${path} exists, and is not overwritten`);
}

// A second name, unlike a new one, is refused where the first is taken meanwhile.
async function name(temporary: string, path: string): Promise<void> {
  try {
    await link(temporary, path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (code === 'EEXIST') throw taken(path);
    if (!NO_LINKS.has(code)) throw error;
    await copyFile(temporary, path, constants.COPYFILE_EXCL);
    await sync(await open(path, 'r+'));
  }
}

async function syncFolder(folder: string): Promise<void> {
  // Windows opens no folder.
  const handle = await open(folder, 'r').catch(() => undefined);
  if (handle) await sync(handle);
}

async function sync(handle: FileHandle): Promise<void> {
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
