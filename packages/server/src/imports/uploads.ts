import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { MemoryError } from '@memoryd/contract';
import type { DatabaseOptions } from '@memoryd/engine';
import { getVariable } from '../settings/names.ts';

/** The name of an upload begins with this prefix and the id of the process that receives it. */
const PREFIX = 'memoryd-import-';
const NAME = /^memoryd-import-(\d+)-[0-9a-f-]{36}$/;

/** Error codes of a full disk, an exceeded disk quota, and a maximum file size. */
const DISK_FULL = /^(ENOSPC|EDQUOT|EFBIG)$/;

export const BYTES_PER_MB = 1024 * 1024;

/** Space on the disk that an upload leaves for the database, in bytes, and the bytes between two checks of it. */
const MIN_FREE_BYTES = 512 * BYTES_PER_MB;
const CHECK_INTERVAL_BYTES = 16 * BYTES_PER_MB;

/** The uploads of this process. */
const present = new Set<string>();

/**
 * Returns the folder for uploads: that of the database file, which has room for large files and belongs to memoryd. A
 * temporary folder may be in memory.
 */
export function getUploadFolder(database: DatabaseOptions): string {
  return 'dbPath' in database && database.dbPath !== undefined ? dirname(database.dbPath) : tmpdir();
}

interface UploadOptions {
  /** Exists or is created. */
  folder: string;
  /** Maximum size in megabytes. */
  maxMb: number;
  /** Space on the disk that a large upload leaves, in bytes. */
  minFreeBytes?: number;
}

/**
 * Stores an upload in a file that only the owner of the process can read, calls `use` with its path, and removes the
 * file in every case. First removes the uploads that killed processes left.
 *
 * @throws MemoryError PAYLOAD_TOO_LARGE for a larger upload, UNAVAILABLE if the disk is nearly full or not writable
 */
export async function withUpload<Result>(
  chunks: AsyncIterable<Uint8Array>,
  options: UploadOptions,
  use: (path: string) => Promise<Result>,
): Promise<Result> {
  const { folder } = options;
  await removeLeftUploads(folder);
  const name = `${PREFIX}${process.pid}-${randomUUID()}`;
  const path = join(folder, name);
  present.add(name);
  try {
    await receive(chunks, path, options);
    return await use(path);
  } finally {
    // A file that cannot be removed now is removed with the leftovers.
    await rm(path, { force: true, maxRetries: 3 }).catch(() => undefined);
    present.delete(name);
  }
}

async function receive(
  chunks: AsyncIterable<Uint8Array>,
  path: string,
  { folder, maxMb, minFreeBytes = MIN_FREE_BYTES }: UploadOptions,
): Promise<void> {
  const file = await onDisk(async () => {
    await mkdir(dirname(path), { recursive: true });
    return open(path, 'wx', 0o600);
  });
  try {
    let bytes = 0;
    let checkAt = CHECK_INTERVAL_BYTES;
    for await (const chunk of chunks) {
      bytes += chunk.length;
      assertSize(bytes, maxMb);
      if (bytes >= checkAt) {
        await assertFree(folder, minFreeBytes);
        checkAt += CHECK_INTERVAL_BYTES;
      }
      await onDisk(() => file.writeFile(chunk));
    }
  } finally {
    await file.close();
  }
}

/** Throws PAYLOAD_TOO_LARGE for an upload of more bytes than the setting allows. */
export function assertSize(bytes: number, maxMb: number): void {
  if (bytes <= maxMb * BYTES_PER_MB) return;
  throw new MemoryError(
    'PAYLOAD_TOO_LARGE',
    `the file must have at most ${maxMb} MB; raise the limit with ${getVariable('importMaxMb')}, or import the file with ` +
      'the command `memoryd import`, which reads it on its own machine',
  );
}

/** Throws UNAVAILABLE if the disk has less free space. Otherwise an upload could stop the writes of the database. */
async function assertFree(folder: string, minFreeBytes: number): Promise<void> {
  const { bavail, bsize } = await onDisk(() => statfs(folder));
  if (bavail * bsize < minFreeBytes) throw createDiskError('the disk is nearly full');
}

/** Runs an operation on the disk. A failure is a problem of the service's machine, not of the request. */
async function onDisk<Result>(operation: () => Promise<Result>): Promise<Result> {
  try {
    return await operation();
  } catch (cause) {
    const code = String((cause as NodeJS.ErrnoException).code);
    const problem = DISK_FULL.test(code) ? 'the disk is full' : `the file cannot be written (${code})`;
    throw createDiskError(problem, cause);
  }
}

function createDiskError(problem: string, cause?: unknown): MemoryError {
  return new MemoryError('UNAVAILABLE', `the upload cannot be stored: ${problem}; retry later`, { cause });
}

/**
 * Removes the uploads in a folder whose process has ended. Uploads of other running processes stay. An upload of this
 * process id that this process does not know is of an earlier process, for example of a container that was killed.
 */
export async function removeLeftUploads(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const pid = Number(NAME.exec(name)?.[1] ?? Number.NaN);
    if (Number.isNaN(pid) || present.has(name) || (pid !== process.pid && isRunning(pid))) continue;
    await rm(join(folder, name), { force: true }).catch(() => undefined);
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process runs under another account.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
