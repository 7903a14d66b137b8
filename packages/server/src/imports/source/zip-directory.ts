import type { FileHandle } from 'node:fs/promises';
import {
  type Entry,
  fromRandomAccessReaderPromise,
  getFileNameLowLevel,
  RandomAccessReader,
  type ZipFile,
} from 'yauzl';
import { BlockReader } from './file-bytes.ts';
import { MAX_ENTRY_NAME_BYTES } from './source-paths.ts';
import { HAS_UTF8_NAME, type ZipEntry } from './zip-entry.ts';

/** The systems of "version made by" whose attributes are those of Unix: Unix and macOS. */
const UNIX_SYSTEMS = new Set([3, 19]);
const FILE_TYPE_MASK = 0o170_000;
const SYMBOLIC_LINK = 0o120_000;

/** The earliest time that a zip can have. Programs without times write this one. */
const NO_TIME_MS = Date.UTC(1980, 0, 1);

const DIRECTORY_SIGNATURE = Buffer.from('PK\x01\x02', 'latin1');

/**
 * Yields the entries of the central directory in its order. Throws an error of any kind if the zip has no directory, or
 * a damaged one.
 *
 * @param assertCount is called with the number of entries before the first one
 */
export async function* readZipDirectory(
  handle: FileHandle,
  zipBytes: number,
  assertCount: (count: number) => void,
): AsyncGenerator<ZipEntry> {
  const reader = new BlockReader(handle);
  const zip = await fromRandomAccessReaderPromise(new ZipReader(reader, zipBytes), zipBytes, {
    autoClose: false,
    // Names are decoded here, because one bad name would end the list.
    decodeStrings: false,
    validateEntrySizes: false,
  });
  assertCount(zip.entryCount);
  for await (const entry of zip.eachEntry()) yield toZipEntry(entry);
  await assertEnded(zip, reader);
}

/** Writers without zip64 store the number of entries modulo 65,536. */
async function assertEnded(zip: ZipFile, reader: BlockReader): Promise<void> {
  const next = await reader.read(Number(zip.readEntryCursor), DIRECTORY_SIGNATURE.length);
  if (next.equals(DIRECTORY_SIGNATURE)) throw new Error('the directory has more entries than it says');
}

function toZipEntry(entry: Entry): ZipEntry {
  const type = (entry.externalFileAttributes >>> 16) & FILE_TYPE_MASK;
  const modifiedAt = getModifiedAt(entry);
  return {
    name: decodeZipName(entry.fileNameRaw, entry.generalPurposeBitFlag, entry.extraFields),
    flags: entry.generalPurposeBitFlag,
    method: entry.compressionMethod,
    offset: entry.relativeOffsetOfLocalHeader,
    compressedBytes: entry.compressedSize,
    sizeBytes: entry.uncompressedSize,
    crc: entry.crc32,
    ...(modifiedAt !== undefined && { modifiedAt }),
    isSymbolicLink: UNIX_SYSTEMS.has(entry.versionMadeBy >>> 8) && type === SYMBOLIC_LINK,
  };
}

/** Old times have no zone. They count as UTC, so that the same zip gives the same times on each machine. */
function getModifiedAt(entry: Entry): number | undefined {
  const ms = entry.getLastModDate({ timezone: 'UTC' as 'local' }).getTime();
  return Number.isNaN(ms) || ms <= NO_TIME_MS ? undefined : ms;
}

/** Decodes a name as UTF-8, which many programs write without the flag for it, and otherwise as code page 437. */
export function decodeZipName(bytes: Buffer, flags: number, extraFields: Entry['extraFields'] = []): string {
  // The caller refuses a name of this length. The rest of the name is not held in memory.
  if (bytes.length > MAX_ENTRY_NAME_BYTES) return bytes.toString('latin1', 0, MAX_ENTRY_NAME_BYTES + 1);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return getFileNameLowLevel(flags & ~HAS_UTF8_NAME, bytes, extraFields, true);
  }
}

/** Reads for yauzl. Yauzl reads two pieces per entry; a block in memory saves these system calls. */
class ZipReader extends RandomAccessReader {
  readonly #reader: BlockReader;
  readonly #sizeBytes: number;

  constructor(reader: BlockReader, sizeBytes: number) {
    super();
    this.#reader = reader;
    this.#sizeBytes = sizeBytes;
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    if (position + length > this.#sizeBytes) {
      callback(new Error('the zip ends too early'));
      return;
    }
    this.#reader.read(position, length).then((bytes) => {
      bytes.copy(buffer, offset);
      callback(bytes.length < length ? new Error('the zip ends too early') : null);
    }, callback);
  }
}
