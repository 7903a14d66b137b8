import { crc32 } from 'node:zlib';
import { type Int8Vector, int8Bytes } from './int8.ts';

/*
 * An entry is what the index needs of a memory and what does not change while its text and labels stay, as bytes, so
 * that an index is made of a file at about the speed of reading it. The kernel reads the same layout; numbers are
 * little-endian.
 *
 *   0 ordinal f64       32 revision u32     44 marks u16       56 vectors u32
 *   8 created at f64    36 length u32       48 terms u32       60 model u32
 *  16 namespace u64     40 speaker u32      52 labels u32
 *  24 session u64          64 stored at f64   72 importance f32  76 checksum u32
 *  80 terms, 8 bytes each: frequency (16 bits, saturating), then the digest (48 bits)
 *     labels, 8 bytes each: the same, with a frequency of 1
 *     vectors, each the dimensions as signed bytes and their step as f32
 *
 * The checksum is the CRC-32 of all bytes with zeros in its place: vectors can be told from nothing else.
 */
const Place = {
  ordinal: 0,
  createdAt: 8,
  namespace: 16,
  session: 24,
  revision: 32,
  length: 36,
  speaker: 40,
  marks: 44,
  terms: 48,
  labels: 52,
  vectors: 56,
  model: 60,
  storedAt: 64,
  importance: 72,
  checksum: 76,
  head: 80,
} as const;

/** Where an entry keeps the number of the model that made its vectors, in bytes from its start; 4 bytes. */
export const MODEL_PLACE = Place.model;
const TERM_BYTES = 8;
const MAX_FREQUENCY = 0xffff;

/** A whole number below 2^48 that stands for a text. */
export type Digest = number;

/** What an entry says of a memory apart from its vectors. Times are milliseconds since 1970 in UTC. */
export interface EntryFacts {
  ordinal: number;
  createdAt: number;
  namespace: Digest;
  /** 0 is no session. */
  session: Digest;
  /** Different from that of any entry that the memory had with other terms or labels. */
  revision: number;
  /** Length in terms that count. */
  length: number;
  frequencies: ReadonlyMap<Digest, number>;
  labels: readonly Digest[];
  /** See `Traits` in core/text. */
  speaker: number;
  marks: number;
  storedAt: number;
  /** From 0 to 1. */
  importance: number;
}

/** An entry without vectors. */
export function packEntry(facts: EntryFacts): Buffer {
  const { frequencies, labels } = facts;
  const entry = Buffer.alloc(Place.head + (frequencies.size + labels.length) * TERM_BYTES);
  entry.writeDoubleLE(facts.ordinal, Place.ordinal);
  entry.writeDoubleLE(facts.createdAt, Place.createdAt);
  entry.writeUIntLE(facts.namespace, Place.namespace, 6);
  entry.writeUIntLE(facts.session, Place.session, 6);
  entry.writeUInt32LE(facts.revision >>> 0, Place.revision);
  entry.writeUInt32LE(facts.length, Place.length);
  entry.writeUInt32LE(facts.speaker, Place.speaker);
  entry.writeUInt16LE(facts.marks, Place.marks);
  entry.writeDoubleLE(facts.storedAt, Place.storedAt);
  entry.writeFloatLE(facts.importance, Place.importance);
  entry.writeUInt32LE(frequencies.size, Place.terms);
  entry.writeUInt32LE(labels.length, Place.labels);
  let at: number = Place.head;
  for (const [digest, frequency] of frequencies) at = writeTerm(entry, at, digest, frequency);
  for (const label of labels) at = writeTerm(entry, at, label, 1);
  return sealed(entry);
}

function writeTerm(entry: Buffer, at: number, digest: Digest, frequency: number): number {
  entry.writeUInt16LE(Math.min(frequency, MAX_FREQUENCY), at);
  return entry.writeUIntLE(digest, at + 2, 6);
}

/** The entry, in place, as that of a memory. */
export function numbered(entry: Buffer, ordinal: number): Buffer {
  entry.writeDoubleLE(ordinal, Place.ordinal);
  return sealed(entry);
}

/** The entries, none with vectors, of which these are the bytes, one after the other, without copying. */
export function entriesIn(bytes: Uint8Array): Buffer[] {
  const entries: Buffer[] = [];
  for (let left = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length); left.length > 0; ) {
    const end = vectorsStart(left);
    entries.push(left.subarray(0, end));
    left = left.subarray(end);
  }
  return entries;
}

/** The entry with these vectors, which a model made, in place of those that it has. */
export function withVectors(entry: Buffer, model: number, vectors: readonly Int8Vector[]): Buffer {
  const head = entry.subarray(0, vectorsStart(entry));
  const changed = Buffer.concat([head, ...vectors]);
  changed.writeUInt32LE(vectors.length, Place.vectors);
  changed.writeUInt32LE(model, Place.model);
  return sealed(changed);
}

/** The memory that an entry was made for. */
export function getOrdinal(entry: Buffer): number {
  return entry.readDoubleLE(Place.ordinal);
}

/** Number of the model that made an entry's vectors, or found that there are none to make; 0 before any has. */
export function getModel(entry: Buffer): number {
  return entry.readUInt32LE(Place.model);
}

/** The vectors of an entry, without copying. */
export function getVectors(entry: Buffer): Int8Vector[] {
  const count = entry.readUInt32LE(Place.vectors);
  const start = vectorsStart(entry);
  const bytes = (entry.length - start) / count;
  return Array.from({ length: count }, (_, i) => entry.subarray(start + i * bytes, start + (i + 1) * bytes));
}

/** The vectors of so many dimensions of an entry of any layout, without copying: they are the last of it. */
export function lastVectors(entry: Buffer, dimensions: number): Int8Vector[] {
  const count = entry.readUInt32LE(Place.vectors);
  const bytes = int8Bytes(dimensions);
  const start = entry.length - count * bytes;
  return Array.from({ length: count }, (_, i) => entry.subarray(start + i * bytes, start + (i + 1) * bytes));
}

/** The digests of an entry's terms, labels apart. */
export function getTerms(entry: Buffer): Digest[] {
  return Array.from({ length: entry.readUInt32LE(Place.terms) }, (_, i) =>
    entry.readUIntLE(Place.head + i * TERM_BYTES + 2, 6),
  );
}

/** Whether an entry ends with as many vectors of these dimensions as it says. */
export function hasVectors(entry: Buffer, dimensions: number): boolean {
  return entry.length === vectorsStart(entry) + entry.readUInt32LE(Place.vectors) * int8Bytes(dimensions);
}

/** Whether these are the bytes of an entry as it was made, none of which has changed since. */
export function isWhole(bytes: unknown): bytes is Buffer {
  if (!Buffer.isBuffer(bytes) || bytes.length < Place.head) return false;
  const told = bytes.readUInt32LE(Place.checksum);
  sealed(bytes);
  const sum = bytes.readUInt32LE(Place.checksum);
  bytes.writeUInt32LE(told, Place.checksum);
  return told === sum;
}

// In place and at once: a million are looked at in a third of a second, in a second where parts are taken of them.
function sealed(entry: Buffer): Buffer {
  entry.writeUInt32LE(0, Place.checksum);
  entry.writeUInt32LE(crc32(entry), Place.checksum);
  return entry;
}

/** Whether two entries say the same of a memory's text and labels. */
export function saySame(one: Buffer, other: Buffer): boolean {
  const [start, end] = [Place.head, vectorsStart(one)];
  return (
    end === vectorsStart(other) &&
    one.subarray(0, Place.revision).equals(other.subarray(0, Place.revision)) &&
    one.subarray(Place.length, Place.vectors).equals(other.subarray(Place.length, Place.vectors)) &&
    one.subarray(Place.storedAt, Place.checksum).equals(other.subarray(Place.storedAt, Place.checksum)) &&
    one.subarray(start, end).equals(other.subarray(start, end))
  );
}

function vectorsStart(entry: Buffer): number {
  return Place.head + (entry.readUInt32LE(Place.terms) + entry.readUInt32LE(Place.labels)) * TERM_BYTES;
}
