import { access, constants, copyFile, type FileHandle, link, lstat, open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { MemoryError } from '@memoryd/contract/errors';
import { copyTo, type OnCopied, removeCopy, removeLeftCopies, temporaryBeside } from './copies.ts';
import { makeFolder } from './file.ts';
import { attempt, unwrap } from './file-failure.ts';
import { openAsItIs } from './open-connection.ts';

/** What SQLite puts beside a database. */
const BESIDE = ['-wal', '-shm', '-journal'];

const PIECE_BYTES = 1024 * 1024;

/**
 * Puts a copy in the place of a database. CONFLICT where there is one, or a part of one; UNAVAILABLE where the copy cannot
 * be read, is damaged, is no database of memoryd or one of a newer memoryd, or the signal gave it up. The copy is only read.
 */
export async function restoreFile(
  copy: string,
  dbPath: string,
  { signal, onCopied }: { signal?: AbortSignal; onCopied?: OnCopied } = {},
): Promise<void> {
  const [from, path] = [resolve(copy), resolve(dbPath)];
  for (const beside of BESIDE) await assertFree(`${path}${beside}`);
  await assertComplete(from);
  makeParentFolder(path);
  await placeFile(path, async (to) => {
    await copyBytes(from, to, onCopied, signal);
    assertSound(to);
  });
}

function makeParentFolder(path: string): void {
  try {
    makeFolder(dirname(path));
  } catch (cause) {
    throw cannotBeMade(path, cause);
  }
}

/** Refuses a file that a server was using when it was copied: the newest of it stands in the log beside it. */
async function assertComplete(from: string): Promise<void> {
  const log = await stat(`${from}-wal`).catch(() => ({ size: 0 }));
  if (log.size === 0) return;
  throw new MemoryError(
    'UNAVAILABLE',
    `${from} has a log beside it, so it is in use or was; copy it by memoryd backup`,
  );
}

async function copyBytes(
  from: string,
  to: string,
  onCopied: OnCopied | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  const cannotBeRead = (cause: NodeJS.ErrnoException) => {
    throw new MemoryError('UNAVAILABLE', `${from} cannot be read (${cause.code})`, { cause });
  };
  const source = await open(from, 'r').catch(cannotBeRead);
  try {
    const target = await open(to, 'wx', 0o600);
    try {
      const { size } = await source.stat();
      const piece = Buffer.alloc(PIECE_BYTES);
      for (let read = -1, done = 0; read !== 0; done += read) {
        if (signal?.aborted) throw new MemoryError('UNAVAILABLE', 'restoring was given up');
        read = (await source.read(piece).catch(cannotBeRead)).bytesRead;
        await target.writeFile(piece.subarray(0, read));
        onCopied?.(done + read, size);
      }
      await target.sync();
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

function assertSound(path: string): void {
  const problems = unwrap(
    attempt(() => {
      const connection = openAsItIs(path);
      try {
        return connection.pragma('quick_check(1)', { simple: true }) as string;
      } finally {
        connection.close();
      }
    }),
  );
  if (problems !== 'ok') throw new MemoryError('UNAVAILABLE', `the copy is damaged: ${problems}`);
}

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
  await assertFolderExists(path);
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
async function assertFree(path: string): Promise<void> {
  const there = await lstat(path).catch(() => undefined);
  if (there) throw taken(path);
}

async function assertFolderExists(path: string): Promise<void> {
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
function cannotBeMade(path: string, cause: unknown): MemoryError {
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

/**
 * Copies a database into a file, whether or not a server uses it. CONFLICT where the file exists; UNAVAILABLE where the
 * database cannot be read, there is no room, or the signal gave it up.
 */
export async function backUpFile(
  dbPath: string,
  file: string,
  options: { signal?: AbortSignal; onCopied?: OnCopied } = {},
): Promise<{ sizeBytes: number }> {
  return placeFile(resolve(file), (to) => copyTo({ from: resolve(dbPath), to }, options));
}
