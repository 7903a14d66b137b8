import { createGunzip } from 'node:zlib';
import { decompress, MAX_COMPRESSED_CHUNK_BYTES } from './decompress.ts';
import { openRegularFile, readRange } from './file-bytes.ts';
import type { UncompressedBytes } from './source-limits.ts';

/** Returns whether a file starts as a gzip file does. */
export function isGzip(start: Uint8Array): boolean {
  return start[0] === 0x1f && start[1] === 0x8b;
}

/**
 * Reads the uncompressed bytes of a gzip file.
 *
 * @param file identifies the file for the limits
 */
export async function* readGzip(
  path: string,
  file: object,
  uncompressed: UncompressedBytes,
): AsyncGenerator<Uint8Array> {
  const handle = await openRegularFile(path);
  try {
    const progress = { given: 0, consumed: 0 };
    const raw = readRange(handle, 0, Number.POSITIVE_INFINITY, MAX_COMPRESSED_CHUNK_BYTES);
    let sizeBytes = 0;
    for await (const chunk of decompress(raw, createGunzip(), progress)) {
      sizeBytes += chunk.length;
      uncompressed.count(file, sizeBytes, progress.given);
      yield chunk;
    }
  } finally {
    await handle.close();
  }
}
