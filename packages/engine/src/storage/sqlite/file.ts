import { closeSync, mkdirSync, openSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MemoryError } from '@memoryd/contract';

/**
 * Makes the database file and its folders where they are missing, for the owner alone; SQLite gives the files that it
 * puts beside it the same mode. UNAVAILABLE when the path cannot be written.
 */
export function prepareFile(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    closeSync(openSync(path, 'a', 0o600));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new MemoryError('UNAVAILABLE', `the database file ${path} cannot be written (${code})`, { cause: error });
  }
}

/** Bytes of the database on disk: the file and the log that belongs to it. */
export async function sizeOnDisk(path: string): Promise<number> {
  const sizes = await Promise.all([path, `${path}-wal`].map(sizeOf));
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function sizeOf(path: string): Promise<number> {
  const stats = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return { size: 0 };
    throw new MemoryError('UNAVAILABLE', 'the database file cannot be looked at', { cause: error });
  });
  return stats.size;
}
