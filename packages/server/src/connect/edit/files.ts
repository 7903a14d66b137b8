import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { writeFile } from 'atomically';
import { UnchangeableFile } from './failures.ts';

/** Maximum size of a file that is changed, in bytes, far larger than settings are. */
const MAX_BYTES = 32 * 1024 * 1024;

/** Maximum links from one path to another. */
const MAX_LINKS = 16;

/**
 * Returns the bytes of a file; undefined if it does not exist.
 *
 * @throws UnchangeableFile if it cannot be read, is no file, or is too large
 */
export function readBytes(path: string): Buffer | undefined {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return undefined;
    if (!stats.isFile()) throw new UnchangeableFile('it is not a file');
    if (stats.size > MAX_BYTES) throw new UnchangeableFile(`it has more than ${MAX_BYTES} bytes`);
    return readFileSync(path);
  } catch (error) {
    if (error instanceof UnchangeableFile) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTDIR') throw new UnchangeableFile('its folder is a file');
    throw new UnchangeableFile(`it cannot be read (${code}); check its permissions`);
  }
}

/**
 * Writes a file atomically, through links. Keeps the mode and the owner of an existing file.
 *
 * @returns the folders that were created, outermost first
 */
export async function writeBytes(path: string, bytes: Buffer | string, mode?: number): Promise<string[]> {
  const target = followLinks(path);
  assertWritable(target);
  const missing = getMissingFolders(dirname(target));
  if (target !== path && missing.length > 0) {
    throw new UnchangeableFile(`it is a link to ${target}, whose folder does not exist; correct or remove the link`);
  }
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, bytes, mode === undefined ? {} : { mode });
  return missing;
}

/** Deletes a file. Keeps the link if the path is one. */
export function deleteFile(path: string): void {
  rmSync(followLinks(path), { force: true });
}

/** Throws the error of the system for a file that is read-only, because an atomic write would replace it all the same. */
function assertWritable(path: string): void {
  if (existsSync(path)) accessSync(path, constants.W_OK);
}

/** Removes a folder unless something is in it. Returns whether the folder is gone. */
export function removeIfEmpty(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return true;
    // EEXIST is the code of some systems, EPERM that of Windows for a folder in use. ENOTDIR: a link has replaced the folder.
    if (['ENOTEMPTY', 'EEXIST', 'EPERM', 'EBUSY', 'ENOTDIR'].includes(code)) return false;
    throw error;
  }
}

/** Removes a folder and the folders above it up to `last`, until one of them is not empty. */
export function removeEmptyFolders(folder: string, last: string): void {
  if (removeIfEmpty(folder) && folder !== last && dirname(folder) !== folder) removeEmptyFolders(dirname(folder), last);
}

/** Returns the path that a chain of links leads to, which may not exist. */
function followLinks(path: string): string {
  let target = path;
  for (let count = 0; lstatSync(target, { throwIfNoEntry: false })?.isSymbolicLink(); count++) {
    if (count === MAX_LINKS) throw new UnchangeableFile('its links lead in a circle');
    target = resolve(dirname(target), readlinkSync(target));
  }
  return target;
}

function getMissingFolders(folder: string): string[] {
  return existsSync(folder) ? [] : [...getMissingFolders(dirname(folder)), folder];
}
