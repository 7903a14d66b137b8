import { closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MemoryError } from '@memoryd/contract/errors';

/**
 * Makes the database file and its folders where they are missing, for the owner alone; SQLite gives the files that it
 * puts beside it the same mode. UNAVAILABLE when the path cannot be written.
 */
export function prepareFile(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // Not opened where it exists: closing it would end the locks that this process may hold on it (POSIX).
    if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new MemoryError('UNAVAILABLE', `the database file ${path} cannot be written (${code})`, { cause: error });
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
