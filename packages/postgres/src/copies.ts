import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MemoryError } from '@memoryd/contract/errors';
import { type ExportFilter, getRecords, keptRecords, type Storage, toRecordLine } from '@memoryd/core';
import pLimit from 'p-limit';
import type { Connection } from './connection.ts';

/** Maximum number of copies that are being created or read. */
const MAX_COPIES = 4;

/** Approximate size of one write, in characters. */
const WRITE_CHARS = 1024 * 1024;

/**
 * Creates copies of the records of namespaces, one at a time. A copy is an unlinked file in the temporary directory, so
 * that a slow reader blocks neither a connection nor the vacuum of rows that are deleted in the meantime.
 */
export class Copies {
  readonly #connection: Connection;
  readonly #runExclusively = pLimit(1);
  readonly #closing = new AbortController();
  #count = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** See `Storage.exportRecords`. */
  async exportRecords(
    namespace: string,
    of: ExportFilter = {},
    signal?: AbortSignal,
  ): ReturnType<Storage['exportRecords']> {
    if (this.#count >= MAX_COPIES) {
      throw new MemoryError('UNAVAILABLE', 'too many exports are in progress; retry later');
    }
    this.#count++;
    let file: FileHandle | undefined;
    let closed: Promise<void> | undefined;
    const close = () => {
      closed ??= (file?.close() ?? Promise.resolve()).finally(() => this.#count--);
      return closed;
    };
    try {
      const stop = AbortSignal.any([this.#closing.signal, ...(signal ? [signal] : [])]);
      file = await openTemporaryFile();
      const count = await this.#runExclusively(() => this.#write(file as FileHandle, { namespace, of }, stop));
      return { count, records: getRecords({ file, close }), discard: close };
    } catch (error) {
      await close();
      throw isDiskFull(error)
        ? new MemoryError('UNAVAILABLE', 'the disk of the temporary folder (TMPDIR) is full; free some space')
        : error;
    }
  }

  /** Aborts copies that are being created. Copies that are being read stay readable. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#runExclusively(() => {});
  }

  #write(
    file: FileHandle,
    { namespace, of }: { namespace: string; of: ExportFilter },
    signal: AbortSignal,
  ): Promise<number> {
    assertNotAborted(signal);
    return this.#connection.dedicatedSnapshot(async (queries) => {
      const writer = new LineWriter(file);
      for await (const record of keptRecords(queries, namespace, of)) {
        assertNotAborted(signal);
        await writer.add(toRecordLine(record));
      }
      return writer.end();
    }, signal);
  }
}

function assertNotAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new MemoryError('UNAVAILABLE', 'the export was aborted; start a new export');
}

/** Replaces the content of a file with lines. */
class LineWriter {
  readonly #file: FileHandle;
  #lines = 0;
  #buffer = '';
  #bytes = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  async add(line: string): Promise<void> {
    this.#lines++;
    this.#buffer += `${line}\n`;
    if (this.#buffer.length >= WRITE_CHARS) await this.#flush();
  }

  /** Writes the remaining lines, and returns the number of lines. */
  async end(): Promise<number> {
    await this.#flush();
    await this.#file.truncate(this.#bytes);
    return this.#lines;
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.from(this.#buffer);
    this.#buffer = '';
    for (let offset = 0; offset < bytes.length; ) {
      offset += (await this.#file.write(bytes, offset, bytes.length - offset, this.#bytes + offset)).bytesWritten;
    }
    this.#bytes += bytes.length;
  }
}

/** Opens an empty, unlinked file that only the owner can access. The system deletes the file when it is closed. */
async function openTemporaryFile(): Promise<FileHandle> {
  const path = join(tmpdir(), `memoryd-${randomUUID()}`);
  try {
    const file = await open(path, 'wx+', 0o600);
    await rm(path);
    return file;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new MemoryError(
      'UNAVAILABLE',
      `a temporary file for the export could not be created (${code}); check the permissions and free space of the ` +
        'temporary folder (TMPDIR)',
      { cause },
    );
  }
}

/** Error codes of a full disk, an exceeded disk quota, and a maximum file size. */
const DISK_FULL = /^(ENOSPC|EDQUOT|EFBIG)$/;

function isDiskFull(error: unknown): boolean {
  return error instanceof Error && DISK_FULL.test(String((error as NodeJS.ErrnoException).code));
}
