import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { UnreadableFile } from './source.ts';

const CHUNK_BYTES = 64 * 1024;

/** Without O_NONBLOCK, the opening of a FIFO waits for its writer. Windows has no such flag. */
const READ_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Opens a regular file. Throws `UnreadableFile` for a missing, forbidden or special file. Never waits for a FIFO. */
export async function openRegularFile(path: string): Promise<FileHandle> {
  let handle: FileHandle;
  try {
    handle = await open(path, READ_FLAGS);
  } catch (error) {
    throw toUnreadable(error);
  }
  const stats = await handle.stat();
  if (stats.isFile()) return handle;
  await handle.close();
  throw new UnreadableFile('it is no regular file');
}

/** Reads a file of the disk from its beginning. */
export async function* readFileBytes(path: string): AsyncGenerator<Uint8Array> {
  const handle = await openRegularFile(path);
  try {
    yield* readRange(handle, 0, Number.POSITIVE_INFINITY);
  } finally {
    await handle.close();
  }
}

/**
 * Reads the bytes of a file from `start` up to `end`, without `end` itself. Yields less if the file ends before.
 *
 * @param chunkBytes maximum size of a chunk
 */
export async function* readRange(
  handle: FileHandle,
  start: number,
  end: number,
  chunkBytes = CHUNK_BYTES,
): AsyncGenerator<Uint8Array> {
  for (let position = start; position < end; ) {
    const chunk = await readAt(handle, position, Math.min(chunkBytes, end - position));
    if (chunk.length === 0) return;
    yield chunk;
    position += chunk.length;
  }
}

/** Reads up to `length` bytes at a position. Returns fewer at the end of the file only. */
async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  try {
    while (filled < length) {
      const { bytesRead } = await handle.read(buffer, filled, length - filled, position + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
  } catch (error) {
    throw toUnreadable(error);
  }
  return buffer.subarray(0, filled);
}

/** Reads short pieces at rising positions. One block of the file is in memory, so that most pieces need no system call. */
export class BlockReader {
  readonly #handle: FileHandle;
  #block: Buffer = Buffer.alloc(0);
  #start = 0;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  /** Returns `length` bytes, or fewer at the end of the file. The bytes are valid until the next call. */
  async read(position: number, length: number): Promise<Buffer> {
    const isInBlock = position >= this.#start && position + length <= this.#start + this.#block.length;
    if (!isInBlock) {
      this.#block = await readAt(this.#handle, position, Math.max(length, CHUNK_BYTES));
      this.#start = position;
    }
    return this.#block.subarray(position - this.#start, position - this.#start + length);
  }

  /** Returns the first position of the bytes from `start` on; undefined if the file does not have them. */
  async find(bytes: Uint8Array, start: number): Promise<number | undefined> {
    for (let position = start; ; position += CHUNK_BYTES - bytes.length + 1) {
      const block = await this.read(position, CHUNK_BYTES);
      const index = block.indexOf(bytes);
      if (index !== -1) return position + index;
      if (block.length < CHUNK_BYTES) return undefined;
    }
  }
}

function toUnreadable(error: unknown): UnreadableFile {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EACCES' || code === 'EPERM') return new UnreadableFile('memoryd has no permission to read it');
  if (code === 'ENOENT') return new UnreadableFile('it no longer exists');
  return new UnreadableFile(`it cannot be read (${code ?? 'unknown error'})`, { cause: error });
}
