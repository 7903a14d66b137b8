import { type BigIntStats, closeSync, existsSync, fstatSync, openSync, readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { MemoryError } from '@memoryd/contract/errors';
import Sqlite from 'better-sqlite3';
import type { Connection } from './connection.ts';
import { openBeforeExit } from './exit-during-open.ts';

/*
 * POSIX locks belong to the process: closing any descriptor of a file releases all locks of the process on the file,
 * including the locks of SQLite connections in other threads. Another program that closes the file would then delete
 * the log, together with acknowledged commits. SQLite keeps its own descriptors open until the process has no lock on
 * the file. So SQLite opens and closes all descriptors of database files, even where the bytes are read or written
 * without SQLite. Node closes the descriptors of `node:fs` when a thread ends, so those could not be kept open.
 */

/** The folder that lists the descriptors of this process. */
const DESCRIPTORS = process.platform === 'linux' ? '/proc/self/fd' : '/dev/fd';

/** False on Windows, where locks belong to an open file and not to the process, and where /proc is not mounted. */
const CAN_LIST = process.platform !== 'win32' && existsSync(DESCRIPTORS);

function toIdentity({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

/**
 * Returns an identifier of the file at a path; `none` for a missing file. The identifier changes if the file is
 * replaced.
 */
export function getFileIdentity(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats ? toIdentity(stats) : 'none';
}

/** Returns the identifier of an open file. */
export function getOpenFileIdentity(descriptor: number): string {
  return toIdentity(fstatSync(descriptor, { bigint: true }));
}

/** Returns the identifiers of the open files of this process by descriptor. */
function getOpenFiles(): Map<number, string> {
  const files = new Map<number, string>();
  for (const descriptor of readdirSync(DESCRIPTORS).map(Number)) {
    try {
      files.set(descriptor, getOpenFileIdentity(descriptor));
    } catch {
      // Another thread has closed the descriptor.
    }
  }
  return files;
}

/**
 * Threads and copies of this module share no variables, but they share the descriptors of the process. A thread with
 * the only descriptor of this file has the mutex of the process. The file belongs to the SQLite library, whose
 * connections share their locks.
 */
const MUTEX_FILE = createRequire(import.meta.url).resolve('better-sqlite3');

/** Maximum wait for the mutex, in ms. */
const MAX_WAIT_MS = 5000;
/** Maximum delay between two attempts to get the mutex, in ms. Random, so that threads do not collide again. */
const MAX_DELAY_MS = 4;

/** Runs a function while no other thread opens or creates a database file. Throws UNAVAILABLE after MAX_WAIT_MS. */
function exclusively<T>(run: () => T): T {
  if (!CAN_LIST) return run();
  const mutex = getMutex();
  try {
    return run();
  } finally {
    closeSync(mutex);
  }
}

function getMutex(): number {
  for (const until = performance.now() + MAX_WAIT_MS; performance.now() < until; ) {
    const mutex = tryMutex();
    if (mutex !== undefined) return mutex;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.random() * MAX_DELAY_MS);
  }
  throw new MemoryError(
    'UNAVAILABLE',
    `another part of this process has ${MUTEX_FILE} open; close that file and retry`,
  );
}

/** Returns the descriptor of the mutex, or undefined if another thread has the mutex. */
function tryMutex(): number | undefined {
  let mutex: number | undefined;
  let isOwn = false;
  try {
    mutex = openSync(MUTEX_FILE, 'r');
    const file = getOpenFileIdentity(mutex);
    isOwn = [...getOpenFiles().values()].filter((each) => each === file).length === 1;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new MemoryError('UNAVAILABLE', `${MUTEX_FILE} cannot be opened (${code}); check the limit on open files`, {
      cause,
    });
  } finally {
    if (mutex !== undefined && !isOwn) closeSync(mutex);
  }
  return isOwn ? mutex : undefined;
}

/** Opens a connection, which has no lock before its first statement. Every connection is opened by this function. */
export function connect(path: string, options: Sqlite.Options): Connection {
  return exclusively(() => openBeforeExit(() => new Sqlite(path, options)));
}

/** Creates an empty file with owner-only permissions, unless the path exists. Throws errors of the file system. */
export function createFile(path: string): void {
  exclusively(() => {
    // A file that exists is not opened, because connections of this process may have locks on the file.
    if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
  });
}

/** A database file that is open for reading or writing its bytes without SQLite. */
export interface RawFile {
  descriptor: number;
  close(): void;
}

/** The users of a file in this thread, and the file, which is opened when a user first needs it. */
interface SharedFile {
  users: Set<object>;
  raw?: RawFile;
}

const sharedFiles = new Map<string, SharedFile>();

/**
 * Shares one descriptor of the file at a path among the users in this thread, and among later users while another
 * thread has the file open. Each further call of `openRaw` would add a descriptor that SQLite leaves open.
 */
export function shareRawFile(path: string): { getDescriptor(): number; release(): void } {
  const file = getFileIdentity(path);
  const shared: SharedFile = sharedFiles.get(file) ?? { users: new Set() };
  sharedFiles.set(file, shared);
  const user = {};
  shared.users.add(user);
  return {
    getDescriptor() {
      shared.raw ??= openRaw(path, { readonly: false });
      return shared.raw.descriptor;
    },
    release() {
      shared.users.delete(user);
      closeUnused();
    },
  };
}

/** Closes the files that have no users in this thread and are not open in other threads. */
function closeUnused(): void {
  const openFiles = CAN_LIST ? getOpenFiles() : new Map<number, string>();
  for (const [file, { users, raw }] of sharedFiles) {
    const isOpen = [...openFiles].some(([descriptor, open]) => open === file && descriptor !== raw?.descriptor);
    if (users.size > 0 || (raw && isOpen)) continue;
    raw?.close();
    sharedFiles.delete(file);
  }
}

/**
 * Opens an existing file, for writing too unless `readonly` is true. Throws UNAVAILABLE if the descriptors of this
 * process cannot be listed, and errors of SQLite for an unusable file.
 */
export function openRaw(path: string, { readonly }: { readonly: boolean }): RawFile {
  if (process.platform === 'win32') {
    const descriptor = openSync(path, readonly ? 'r' : 'r+');
    return { descriptor, close: () => closeSync(descriptor) };
  }
  if (!CAN_LIST)
    throw new MemoryError('UNAVAILABLE', `${DESCRIPTORS} must list the descriptors of this process; mount /proc`);
  return exclusively(() => openThroughSqlite(path, readonly));
}

/** Maximum descriptors of a file that SQLite has left open and reuses for new connections. */
const MAX_REUSED = 256;

// The connection runs no statement, so it takes no lock and reads nothing.
function openThroughSqlite(path: string, readonly: boolean): RawFile {
  const reusing: Connection[] = [];
  try {
    while (reusing.length < MAX_REUSED) {
      const before = getOpenFiles();
      const connection = new Sqlite(path, { readonly, fileMustExist: true });
      const file = getFileIdentity(path);
      const added = [...getOpenFiles()].filter(
        ([descriptor, open]) => open === file && before.get(descriptor) !== file,
      );
      const [descriptor] = added.flat();
      if (added.length === 1 && typeof descriptor === 'number') return { descriptor, close: () => connection.close() };
      // Without a new descriptor, SQLite has reused a descriptor. The next connection gets another one.
      reusing.push(connection);
    }
  } finally {
    for (const connection of reusing) connection.close();
  }
  throw new MemoryError('UNAVAILABLE', `this process has too many descriptors of ${path}; restart the process`);
}
