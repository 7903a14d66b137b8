import { createWriteStream } from 'node:fs';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';

/**
 * Writes a file that nobody but its owner reads: it is there when it is whole and on the disk, or not at all.
 *
 * @throws where one is there already
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
