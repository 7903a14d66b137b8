import type { FileHandle } from 'node:fs/promises';
import { crc32, createInflateRaw, inflateRawSync } from 'node:zlib';
import { type Decompression, decompress, MAX_COMPRESSED_CHUNK_BYTES } from './decompress.ts';
import { type BlockReader, openRegularFile, readRange } from './file-bytes.ts';
import { UnreadableFile } from './source.ts';
import type { UncompressedBytes } from './source-limits.ts';

/** The fields of the zip format (PKWARE APPNOTE 6.3.10, 4.4). */
export const STORED = 0;
export const DEFLATED = 8;
export const LOCAL_HEADER_BYTES = 30;
export const LOCAL_SIGNATURE = Buffer.from('PK\x03\x04', 'latin1');
export const IS_ENCRYPTED = 1 << 0;
export const HAS_DESCRIPTOR = 1 << 3;
export const HAS_UTF8_NAME = 1 << 11;

/** Maximum uncompressed size of an entry that is decompressed in one step. */
const MAX_SMALL_BYTES = 512 * 1024;

/** An entry of a zip, as the central directory or a scan of the local headers describes it. */
export interface ZipEntry {
  name: string;
  flags: number;
  /** The compression method. */
  method: number;
  /** Position of the local header. */
  offset: number;
  compressedBytes: number;
  /** Uncompressed size, as the zip says. */
  sizeBytes: number;
  crc: number;
  modifiedAt?: number;
  isSymbolicLink: boolean;
  /** Why the entry cannot be read to its end, if a scan has found that. Its sizes and checksum are then unknown. */
  damage?: string;
}

export interface LocalHeader {
  flags: number;
  method: number;
  crc: number;
  compressedBytes: number;
  sizeBytes: number;
  name: Buffer;
  extra: Buffer;
  /** Position of the compressed data. */
  dataStart: number;
}

/** Reads the local header at a position. Returns undefined if there is none, or if the file ends inside it. */
export async function readLocalHeader(reader: BlockReader, offset: number): Promise<LocalHeader | undefined> {
  const fixed = await reader.read(offset, LOCAL_HEADER_BYTES);
  if (fixed.length < LOCAL_HEADER_BYTES || !fixed.subarray(0, 4).equals(LOCAL_SIGNATURE)) return undefined;
  const nameBytes = fixed.readUInt16LE(26);
  const variableBytes = nameBytes + fixed.readUInt16LE(28);
  const header = {
    flags: fixed.readUInt16LE(6),
    method: fixed.readUInt16LE(8),
    crc: fixed.readUInt32LE(14),
    compressedBytes: fixed.readUInt32LE(18),
    sizeBytes: fixed.readUInt32LE(22),
    dataStart: offset + LOCAL_HEADER_BYTES + variableBytes,
  };
  const variable = await reader.read(offset + LOCAL_HEADER_BYTES, variableBytes);
  if (variable.length < variableBytes) return undefined;
  return { ...header, name: variable.subarray(0, nameBytes), extra: variable.subarray(nameBytes) };
}

/** Opens the zip, reads an entry, and compares its size and checksum with those that the zip states. */
export async function* readZipEntry(
  path: string,
  entry: ZipEntry,
  uncompressed: UncompressedBytes,
): AsyncGenerator<Uint8Array> {
  const handle = await openRegularFile(path);
  try {
    let sizeBytes = 0;
    let crc = 0;
    for await (const chunk of readData(handle, entry, await findData(handle, entry), uncompressed)) {
      sizeBytes += chunk.length;
      if (sizeBytes > entry.sizeBytes) throw new UnreadableFile('it is larger than the zip says');
      crc = crc32(chunk, crc);
      yield chunk;
    }
    if (entry.damage !== undefined) throw new UnreadableFile(entry.damage);
    if (sizeBytes < entry.sizeBytes) throw new UnreadableFile('it is shorter than the zip says');
    if (crc !== entry.crc) throw new UnreadableFile('its content does not match its checksum');
  } finally {
    await handle.close();
  }
}

/** The local header states where the data starts, because its extra fields differ from those of the directory. */
async function findData(handle: FileHandle, { offset }: ZipEntry): Promise<number> {
  const fixed: Uint8Array[] = [];
  for await (const chunk of readRange(handle, offset, offset + LOCAL_HEADER_BYTES)) fixed.push(chunk);
  const header = Buffer.concat(fixed);
  if (header.length < LOCAL_HEADER_BYTES || !header.subarray(0, 4).equals(LOCAL_SIGNATURE)) {
    throw new UnreadableFile('the zip does not have it where its directory says');
  }
  return offset + LOCAL_HEADER_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28);
}

/** Small entries are decompressed in one step, so that a zip with many thousands of them needs no stream for each. */
async function* readData(
  handle: FileHandle,
  entry: ZipEntry,
  dataStart: number,
  uncompressed: UncompressedBytes,
): AsyncGenerator<Uint8Array> {
  const isSmall = entry.method === DEFLATED && entry.compressedBytes <= MAX_COMPRESSED_CHUNK_BYTES;
  const content = isSmall ? await inflateSmall(handle, entry, dataStart) : undefined;
  if (content === undefined) {
    yield* uncompress(handle, entry, dataStart, uncompressed);
    return;
  }
  uncompressed.count(entry, content.length, entry.compressedBytes);
  if (content.length > 0) yield content;
}

/** Returns the content of a small entry; undefined if it is damaged or large, so that a stream has to read it. */
async function inflateSmall(handle: FileHandle, entry: ZipEntry, dataStart: number): Promise<Buffer | undefined> {
  const raw: Uint8Array[] = [];
  for await (const chunk of readRange(handle, dataStart, dataStart + entry.compressedBytes)) raw.push(chunk);
  try {
    return inflateRawSync(Buffer.concat(raw), { maxOutputLength: MAX_SMALL_BYTES });
  } catch {
    return undefined;
  }
}

/** Yields the uncompressed data of an entry within the limits. Does not check it against what the zip states. */
export async function* uncompress(
  handle: FileHandle,
  entry: ZipEntry,
  dataStart: number,
  uncompressed: UncompressedBytes,
  progress: Decompression = { given: 0, consumed: 0 },
): AsyncGenerator<Uint8Array> {
  const raw = readRange(handle, dataStart, dataStart + entry.compressedBytes, MAX_COMPRESSED_CHUNK_BYTES);
  const isStored = entry.method === STORED;
  let sizeBytes = 0;
  for await (const chunk of isStored ? raw : decompress(raw, createInflateRaw(), progress)) {
    sizeBytes += chunk.length;
    uncompressed.count(entry, sizeBytes, isStored ? sizeBytes : progress.given);
    yield chunk;
  }
}
