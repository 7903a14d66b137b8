import { crc32, deflateRawSync } from 'node:zlib';

/** An entry of a zip that a test builds. Fields that a zip can state wrongly may differ from the content. */
export interface BuiltEntry {
  name: string | Buffer;
  content: string | Uint8Array;
  method?: number;
  flags?: number;
  /** Size that the zip states. */
  statedBytes?: number;
  crc?: number;
  /** Whether the sizes follow the data, as in a zip that was written as a stream. */
  hasDescriptor?: boolean;
  hasDescriptorSignature?: boolean;
  /** Whether the sizes stand in a zip64 extra field. */
  isZip64?: boolean;
  mode?: number;
}

export interface BuiltZip {
  bytes: Buffer;
  /** End of each entry with its descriptor. */
  ends: number[];
  directoryStart: number;
}

/** Builds a zip of any kind, valid or not. */
export function buildZip(entries: readonly BuiltEntry[]): BuiltZip {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  const ends: number[] = [];
  let offset = 0;
  for (const entry of entries) {
    const { local, central } = buildEntry(entry, offset);
    parts.push(local);
    directory.push(central);
    offset += local.length;
    ends.push(offset);
  }
  const central = Buffer.concat(directory);
  return {
    bytes: Buffer.concat([...parts, central, buildEnd(entries.length, central.length, offset)]),
    ends,
    directoryStart: offset,
  };
}

/** The end of the central directory. */
export function buildEnd(count: number, directoryBytes: number, directoryStart: number): Buffer {
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(count % 65_536, 8);
  end.writeUInt16LE(count % 65_536, 10);
  end.writeUInt32LE(directoryBytes, 12);
  end.writeUInt32LE(directoryStart, 16);
  return end;
}

/** The end of the central directory with fields of 8 bytes, and the end that refers to it. */
export function buildZip64End(count: number, directoryBytes: number, directoryStart: number): Buffer {
  const record = Buffer.alloc(56);
  record.write('PK\x06\x06', 'latin1');
  record.writeBigUInt64LE(44n, 4);
  record.writeBigUInt64LE(BigInt(count), 24);
  record.writeBigUInt64LE(BigInt(count), 32);
  record.writeBigUInt64LE(BigInt(directoryBytes), 40);
  record.writeBigUInt64LE(BigInt(directoryStart), 48);
  const locator = Buffer.alloc(20);
  locator.write('PK\x06\x07', 'latin1');
  locator.writeBigUInt64LE(BigInt(directoryStart + directoryBytes), 8);
  locator.writeUInt32LE(1, 16);
  return Buffer.concat([record, locator, buildEnd(0xffff, 0xffff_ffff, 0xffff_ffff)]);
}

function buildEntry(entry: BuiltEntry, offset: number): { local: Buffer; central: Buffer } {
  const { method = 8, hasDescriptor = false, isZip64 = false } = entry;
  const content = Buffer.from(entry.content as Uint8Array);
  const name = Buffer.from(entry.name as Buffer);
  const data = method === 8 ? deflateRawSync(content) : content;
  const flags = (entry.flags ?? 0x800) | (hasDescriptor ? 8 : 0);
  const crc = entry.crc ?? crc32(content);
  const sizeBytes = entry.statedBytes ?? content.length;
  const fields = { method, flags, name, isZip64 };
  const inHeader = hasDescriptor ? { crc: 0, compressedBytes: 0, sizeBytes: 0 } : undefined;
  const stated = { crc, compressedBytes: data.length, sizeBytes };
  const descriptor = hasDescriptor ? buildDescriptor(stated, entry.hasDescriptorSignature ?? true) : Buffer.alloc(0);
  return {
    local: Buffer.concat([buildLocal({ ...fields, ...(inHeader ?? stated) }), data, descriptor]),
    central: buildCentral({ ...fields, ...stated }, entry.mode ?? 0o100_644, offset),
  };
}

interface Stated {
  crc: number;
  compressedBytes: number;
  sizeBytes: number;
}

interface Fields extends Stated {
  method: number;
  flags: number;
  name: Buffer;
  isZip64: boolean;
}

function buildLocal(fields: Fields): Buffer {
  const header = Buffer.alloc(30);
  header.write('PK\x03\x04', 'latin1');
  header.writeUInt16LE(20, 4);
  const extra = writeFields(header, 6, fields);
  header.writeUInt16LE(fields.name.length, 26);
  header.writeUInt16LE(extra.length, 28);
  return Buffer.concat([header, fields.name, extra]);
}

function buildCentral(fields: Fields, mode: number, offset: number): Buffer {
  const header = Buffer.alloc(46);
  header.write('PK\x01\x02', 'latin1');
  header.writeUInt16LE((3 << 8) | 20, 4);
  header.writeUInt16LE(20, 6);
  const extra = writeFields(header, 8, fields);
  header.writeUInt16LE(fields.name.length, 28);
  header.writeUInt16LE(extra.length, 30);
  header.writeUInt32LE(mode * 65_536, 38);
  header.writeUInt32LE(offset, 42);
  return Buffer.concat([header, fields.name, extra]);
}

/** Writes the fields that both headers have in one order. Returns the zip64 extra field. */
function writeFields(header: Buffer, at: number, { method, flags, crc, compressedBytes, sizeBytes, isZip64 }: Fields) {
  header.writeUInt16LE(flags, at);
  header.writeUInt16LE(method, at + 2);
  // 5 March 2026, 12:00:00
  header.writeUInt16LE(12 << 11, at + 4);
  header.writeUInt16LE(((2026 - 1980) << 9) | (3 << 5) | 5, at + 6);
  header.writeUInt32LE(crc, at + 8);
  header.writeUInt32LE(isZip64 ? 0xffff_ffff : compressedBytes, at + 12);
  header.writeUInt32LE(isZip64 ? 0xffff_ffff : sizeBytes, at + 16);
  if (!isZip64) return Buffer.alloc(0);
  const extra = Buffer.alloc(20);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(16, 2);
  extra.writeBigUInt64LE(BigInt(sizeBytes), 4);
  extra.writeBigUInt64LE(BigInt(compressedBytes), 12);
  return extra;
}

function buildDescriptor({ crc, compressedBytes, sizeBytes }: Stated, hasSignature: boolean): Buffer {
  const descriptor = Buffer.alloc(12);
  descriptor.writeUInt32LE(crc, 0);
  descriptor.writeUInt32LE(compressedBytes, 4);
  descriptor.writeUInt32LE(sizeBytes, 8);
  return hasSignature ? Buffer.concat([Buffer.from('PK\x07\x08', 'latin1'), descriptor]) : descriptor;
}
