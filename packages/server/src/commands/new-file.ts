import { createWriteStream } from 'node:fs';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';

/**
 * Writes a file that only its owner can read. The file appears under its name only after its content is complete and
 * flushed to disk.
 *
 * @throws MemoryError CONFLICT if the file exists
 */
export async function writeNewFile(
  file: string,
  pieces: AsyncIterable<string | Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const { placeFile } = await import('@memoryd/engine');
  await placeFile(resolve(file), (to) =>
    pipeline(pieces, createWriteStream(to, { flags: 'wx', mode: 0o600, flush: true }), { signal }),
  );
}
