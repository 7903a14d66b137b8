import { resolve } from 'node:path';
import { copyTo, type OnCopied } from './copies.ts';
import { placeFile } from './place-file.ts';

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
