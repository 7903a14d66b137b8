import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MemoryError } from '@memoryd/contract/errors';
import { getRecords, type KeptRecords, keptRecords, type OwnerFilter, toLine } from '@memoryd/engine/storage-kit';
import pLimit from 'p-limit';
import type { Connection } from './connection.ts';

/** Copies that are made or read at a time. */
const COPIES_LIMIT = 4;

/** About how many characters are written at a time. */
const WRITTEN_AT_ONCE = 1024 * 1024;

/**
 * Makes copies of what namespaces keep, one at a time. A copy is a file without a name in the folder for temporary files,
 * so that whoever reads it slowly holds up neither a connection nor the vacuuming of what is deleted meanwhile.
 */
export class Copies {
  readonly #connection: Connection;
  readonly #inTurn = pLimit(1);
  readonly #closing = new AbortController();
  #count = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** See `Storage.kept`. */
  async kept(namespace: string, of: OwnerFilter = {}, signal?: AbortSignal): Promise<KeptRecords> {
    if (this.#count >= COPIES_LIMIT) throw new MemoryError('UNAVAILABLE', 'too many copies are being made or read');
    this.#count++;
    let file: FileHandle | undefined;
    let closed: Promise<void> | undefined;
    const close = () => {
      closed ??= (file?.close() ?? Promise.resolve()).finally(() => this.#count--);
      return closed;
    };
    try {
      const stop = AbortSignal.any([this.#closing.signal, ...(signal ? [signal] : [])]);
      file = await openNameless();
      const count = await this.#inTurn(() => this.#write(file as FileHandle, { namespace, of }, stop));
      return { count, records: getRecords({ file, close }), discard: close };
    } catch (error) {
      await close();
      throw isOutOfRoom(error) ? new MemoryError('UNAVAILABLE', 'the disk has no room for a copy') : error;
    }
  }

  /** Gives up what is being made. Copies that are being read stay readable. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#inTurn(() => {});
  }

  #write(
    file: FileHandle,
    { namespace, of }: { namespace: string; of: OwnerFilter },
    signal: AbortSignal,
  ): Promise<number> {
    assertWanted(signal);
    return this.#connection.apart(async (queries) => {
      const to = new Lines(file);
      for await (const record of keptRecords(queries, namespace, of)) {
        assertWanted(signal);
        await to.add(toLine(record));
      }
      return to.end();
    }, signal);
  }
}

function assertWanted(signal: AbortSignal): void {
  if (signal.aborted) throw new MemoryError('UNAVAILABLE', 'the copy was given up');
}

/** Lines from the beginning of a file, in the place of what it held. */
class Lines {
  readonly #file: FileHandle;
  #lines = 0;
  #waiting = '';
  #bytes = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  async add(line: string): Promise<void> {
    this.#lines++;
    this.#waiting += `${line}\n`;
    if (this.#waiting.length >= WRITTEN_AT_ONCE) await this.#flush();
  }

  /** Answers how many there are. */
  async end(): Promise<number> {
    await this.#flush();
    await this.#file.truncate(this.#bytes);
    return this.#lines;
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.from(this.#waiting);
    this.#waiting = '';
    for (let at = 0; at < bytes.length; ) {
      at += (await this.#file.write(bytes, at, bytes.length - at, this.#bytes + at)).bytesWritten;
    }
    this.#bytes += bytes.length;
  }
}

/** Opens an empty file for the owner alone that ends with the process at the latest. */
async function openNameless(): Promise<FileHandle> {
  const path = join(tmpdir(), `memoryd-${randomUUID()}`);
  try {
    const file = await open(path, 'wx+', 0o600);
    await rm(path);
    return file;
  } catch (cause) {
    throw new MemoryError('UNAVAILABLE', 'no temporary file can be made for a copy', { cause });
  }
}

/** Codes of a disk without room, and of a file that may grow no further. */
const OUT_OF_ROOM = /^(ENOSPC|EDQUOT|EFBIG)$/;

function isOutOfRoom(error: unknown): boolean {
  return error instanceof Error && OUT_OF_ROOM.test(String((error as NodeJS.ErrnoException).code));
}
