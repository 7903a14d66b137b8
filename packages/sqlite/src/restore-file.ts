import { accessSync, existsSync, fstatSync, fsyncSync, readSync, statSync } from 'node:fs';
import { access, constants, copyFile, link, lstat, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { MemoryError } from '@memoryd/contract/errors';
import { copyTo, getTemporaryPath, type OnCopied, removeAbandonedCopies, removeCopy } from './copies.ts';
import { openRaw } from './descriptors.ts';
import { attempt, unwrap } from './failure.ts';
import { logPath, makeFolder } from './file.ts';
import { openWithoutMigrating } from './open-connection.ts';

/** Suffixes of the files that SQLite creates next to a database. */
const SUFFIXES = ['-wal', '-shm', '-journal'];

const CHUNK_BYTES = 1024 * 1024;

/**
 * Restores a database from a copy. Only reads the copy. Throws CONFLICT if the database, or a file of SQLite next to
 * the database, exists. Throws UNAVAILABLE if the copy is unreadable, corrupted, has a log, is not a memoryd database
 * or is from a newer memoryd. Throws UNAVAILABLE if the database cannot be created, or if the signal aborts.
 */
export async function restoreFile(
  copy: string,
  dbPath: string,
  { signal, onCopied }: { signal?: AbortSignal; onCopied?: OnCopied } = {},
): Promise<void> {
  const [from, path] = [resolve(copy), resolve(dbPath)];
  for (const suffix of SUFFIXES) await assertFree(`${path}${suffix}`);
  assertComplete(from);
  readFrom(from, () => assertReadable(from));
  makeParentFolder(path);
  await placeFile(path, async (to) => {
    await copyBytes(from, to, onCopied, signal);
    assertSound(to, copy);
  });
}

function makeParentFolder(path: string): void {
  try {
    makeFolder(dirname(path));
  } catch (cause) {
    throw createCannotCreateError(path, cause);
  }
}

/**
 * Throws UNAVAILABLE if the copy has a log, even an empty one. A server uses or used such a file, so the newest commits
 * may be only in the log, and the file may change while it is copied.
 */
function assertComplete(from: string): void {
  if (!existsSync(logPath(from))) return;
  throw new MemoryError(
    'UNAVAILABLE',
    `${from} has a log beside it, so a server uses or used it; create the copy with memoryd backup`,
  );
}

async function copyBytes(
  from: string,
  to: string,
  onCopied: OnCopied | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  const source = readFrom(from, () => openRaw(from, { readonly: true }));
  try {
    const target = await open(to, 'wx', 0o600);
    try {
      const { size } = fstatSync(source.descriptor);
      const chunk = Buffer.alloc(CHUNK_BYTES);
      for (let read = -1, done = 0; read !== 0; done += read) {
        if (signal?.aborted) throw new MemoryError('UNAVAILABLE', 'the restore was aborted; start a new restore');
        read = readFrom(from, () => readSync(source.descriptor, chunk, 0, CHUNK_BYTES, done));
        await target.writeFile(chunk.subarray(0, read));
        onCopied?.(done + read, size);
      }
      await target.sync();
    } finally {
      await target.close();
    }
  } finally {
    source.close();
  }
}

// The error of SQLite for an unreadable file does not say why.
function assertReadable(path: string): void {
  accessSync(path, constants.R_OK);
  if (statSync(path).isDirectory()) throw Object.assign(new Error('the path is a folder'), { code: 'EISDIR' });
}

/** Returns the result of a call that reads a file. Throws UNAVAILABLE if the call fails. */
function readFrom<T>(path: string, call: () => T): T {
  try {
    return call();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new MemoryError('UNAVAILABLE', `${path} cannot be read (${code}); check the path and its permissions`, {
      cause,
    });
  }
}

/** @param name the copy in messages; `path` is temporary */
function assertSound(path: string, name: string): void {
  const problems = unwrap(
    attempt(() => {
      const connection = openWithoutMigrating(path, name);
      try {
        return connection.pragma('quick_check(1)', { simple: true }) as string;
      } finally {
        connection.close();
      }
    }),
    name,
  );
  if (problems !== 'ok')
    throw new MemoryError('UNAVAILABLE', `${name} is corrupt (${problems}); restore another backup`);
}

/** Error codes for hard links that the file system does not support or permit. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/**
 * Creates a file under a temporary name, and moves the complete file to its path. A partial file is never visible at
 * the path, unless the file system has no hard links. Throws CONFLICT if the path exists. Throws UNAVAILABLE if the
 * folder is missing or not writable, or the disk is full.
 *
 * @param create creates and syncs the file at the temporary path, with owner-only permissions
 */
export async function placeFile<T>(path: string, create: (temporary: string) => Promise<T>): Promise<T> {
  await assertFree(path);
  await assertFolderExists(path);
  await removeAbandonedCopies(path);
  const temporary = getTemporaryPath(path);
  try {
    const result = await create(temporary);
    await rename(temporary, path);
    await syncFolder(dirname(path));
    return result;
  } catch (error) {
    throw isFileSystemError(error) ? createCannotCreateError(path, error) : error;
  } finally {
    await removeCopy(temporary);
  }
}

/** Throws CONFLICT if the path exists. */
async function assertFree(path: string): Promise<void> {
  const stats = await lstat(path).catch(() => undefined);
  if (stats) throw pathExists(path);
}

async function assertFolderExists(path: string): Promise<void> {
  try {
    await access(dirname(path), constants.W_OK | constants.X_OK);
  } catch (error) {
    throw createCannotCreateError(path, error);
  }
}

function isFileSystemError(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).syscall !== undefined;
}

function createCannotCreateError(path: string, cause: unknown): MemoryError {
  const { code } = cause as NodeJS.ErrnoException;
  return new MemoryError('UNAVAILABLE', `${path} cannot be created (${code}); check the folder and its permissions`, {
    cause,
  });
}

function pathExists(path: string): MemoryError {
  return new MemoryError('CONFLICT', `${path} exists and would be overwritten; choose another path`);
}

// Uses a hard link, because a link, unlike a rename, fails if the target was created since the check.
async function rename(temporary: string, path: string): Promise<void> {
  try {
    await link(temporary, path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (code === 'EEXIST') throw pathExists(path);
    if (!NO_LINKS.has(code)) throw error;
    await copyFile(temporary, path, constants.COPYFILE_EXCL);
    const placed = openRaw(path, { readonly: false });
    try {
      fsyncSync(placed.descriptor);
    } finally {
      placed.close();
    }
  }
}

async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open folders.
  const handle = await open(folder, 'r').catch(() => undefined);
  try {
    await handle?.sync();
  } finally {
    await handle?.close();
  }
}

/**
 * Backs up a database into a file, even if a server uses the database. Throws CONFLICT if the file exists, and
 * UNAVAILABLE if the database is unreadable, the disk is full, or the signal aborts.
 */
export async function backUpFile(
  dbPath: string,
  file: string,
  options: { signal?: AbortSignal; onCopied?: OnCopied } = {},
): Promise<{ sizeBytes: number }> {
  return placeFile(resolve(file), (to) => copyTo({ from: resolve(dbPath), to }, options));
}
