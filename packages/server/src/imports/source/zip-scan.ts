import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { BlockReader } from './file-bytes.ts';
import { UnreadableFile } from './source.ts';
import { LimitExceeded, type UncompressedBytes } from './source-limits.ts';
import { decodeZipName } from './zip-directory.ts';
import {
  DEFLATED,
  HAS_DESCRIPTOR,
  IS_ENCRYPTED,
  LOCAL_SIGNATURE,
  type LocalHeader,
  readLocalHeader,
  uncompress,
  type ZipEntry,
} from './zip-entry.ts';

const DESCRIPTOR_SIGNATURE = Buffer.from('PK\x07\x08', 'latin1');
/** Size of a descriptor with a signature and sizes of 8 bytes. */
const MAX_DESCRIPTOR_BYTES = 24;
/** Maximum damaged entries of a scan. A broken download has one. Each costs a decoder, so many could take hours. */
const MAX_DAMAGED = 1000;
const ZIP64_EXTRA = 1;
const IN_ZIP64_EXTRA = 0xffff_ffff;

/** An entry, and the position after its data, where the next header is searched. */
interface Scanned {
  entry: ZipEntry;
  end: number;
}

/**
 * Yields the entries of a zip without a readable directory, from the headers before their data. The scan goes forward
 * only: it decompresses an entry once if the header does not tell where its data ends. It ends after many damaged entries.
 */
export async function* scanZip(
  handle: FileHandle,
  zipBytes: number,
  uncompressed: UncompressedBytes,
): AsyncGenerator<ZipEntry> {
  const reader = new BlockReader(handle);
  let damagedCount = 0;
  for (let position: number | undefined = 0; position !== undefined && position < zipBytes; ) {
    const header = await readLocalHeader(reader, position);
    if (header === undefined) {
      position = await reader.find(LOCAL_SIGNATURE, position + 1);
      continue;
    }
    const scanned = await scanEntry(handle, reader, position, header, zipBytes, uncompressed);
    yield scanned.entry;
    if (scanned.entry.damage !== undefined) damagedCount += 1;
    if (uncompressed.isExhausted || damagedCount >= MAX_DAMAGED) return;
    position = scanned.end;
  }
}

async function scanEntry(
  handle: FileHandle,
  reader: BlockReader,
  offset: number,
  header: LocalHeader,
  zipBytes: number,
  uncompressed: UncompressedBytes,
): Promise<Scanned> {
  const { flags, method, crc, dataStart } = header;
  const sizes = readZip64Sizes(header);
  const entry: ZipEntry = {
    name: decodeZipName(header.name, flags),
    flags,
    method,
    offset,
    crc,
    ...sizes,
    isSymbolicLink: false,
  };
  const hasSizes = !(flags & HAS_DESCRIPTOR) || sizes.compressedBytes > 0;
  if (hasSizes) return toScannedBySize(entry, dataStart, zipBytes);
  if (method !== DEFLATED || flags & IS_ENCRYPTED) {
    return { entry: { ...entry, damage: 'the damaged zip does not tell its size' }, end: dataStart };
  }
  entry.compressedBytes = zipBytes - dataStart;
  return scanDeflated(handle, reader, entry, dataStart, uncompressed);
}

function toScannedBySize(entry: ZipEntry, dataStart: number, zipBytes: number): Scanned {
  const end = dataStart + entry.compressedBytes;
  if (end <= zipBytes) return { entry, end };
  const compressedBytes = zipBytes - dataStart;
  return { entry: { ...entry, compressedBytes, damage: 'the zip ends before the end of this file' }, end: zipBytes };
}

/** Decompresses an entry up to its end, which gives its sizes, and compares them with the descriptor that follows. */
async function scanDeflated(
  handle: FileHandle,
  reader: BlockReader,
  entry: ZipEntry,
  dataStart: number,
  uncompressed: UncompressedBytes,
): Promise<Scanned> {
  const progress = { given: 0, consumed: 0 };
  entry.sizeBytes = 0;
  entry.crc = 0;
  try {
    for await (const chunk of uncompress(handle, entry, dataStart, uncompressed, progress)) {
      entry.sizeBytes += chunk.length;
      entry.crc = crc32(chunk, entry.crc);
    }
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    entry.damage = error.message;
    // Skip the data beyond a limit. Headers inside it would be decompressed too, and could cost much time.
    if (error instanceof LimitExceeded) progress.consumed = progress.given;
  }
  entry.compressedBytes = progress.consumed;
  const end = dataStart + progress.consumed;
  if (entry.damage !== undefined) return { entry, end };
  const descriptorBytes = measureDescriptor(await reader.read(end, MAX_DESCRIPTOR_BYTES), entry);
  if (descriptorBytes === 0) entry.damage = 'its checksum is missing or does not match its content';
  return { entry, end: end + descriptorBytes };
}

/**
 * Returns the size of a matching descriptor, which has a signature or none, and sizes of 4 or of 8 bytes; 0 if none.
 */
function measureDescriptor(bytes: Buffer, { crc, compressedBytes, sizeBytes }: ZipEntry): number {
  for (const signature of [DESCRIPTOR_SIGNATURE, Buffer.alloc(0)]) {
    for (const sizeOfSize of [4, 8]) {
      const expected = Buffer.alloc(4 + 2 * sizeOfSize);
      expected.writeUInt32LE(crc, 0);
      writeSize(expected, compressedBytes, 4, sizeOfSize);
      writeSize(expected, sizeBytes, 4 + sizeOfSize, sizeOfSize);
      const whole = Buffer.concat([signature, expected]);
      if (bytes.subarray(0, whole.length).equals(whole)) return whole.length;
    }
  }
  return 0;
}

function writeSize(bytes: Buffer, size: number, offset: number, sizeOfSize: number): void {
  if (sizeOfSize === 8) bytes.writeBigUInt64LE(BigInt(size), offset);
  else bytes.writeUInt32LE(size % 2 ** 32, offset);
}

/** Sizes from 4 GiB stand in an extra field, the uncompressed one first. */
function readZip64Sizes({ compressedBytes, sizeBytes, extra }: LocalHeader): {
  compressedBytes: number;
  sizeBytes: number;
} {
  if (compressedBytes !== IN_ZIP64_EXTRA && sizeBytes !== IN_ZIP64_EXTRA) return { compressedBytes, sizeBytes };
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) !== ZIP64_EXTRA || at + 20 > extra.length) continue;
    return {
      sizeBytes: Number(extra.readBigUInt64LE(at + 4)),
      compressedBytes: Number(extra.readBigUInt64LE(at + 12)),
    };
  }
  return { compressedBytes, sizeBytes };
}
