import { crc32 } from 'node:zlib';
import { STATE_SIZE } from '@memoryd/minilm/parts';
import { compile, instantiate } from '../recall-index/webassembly.ts';

/*
 * The states of a memory's tokens as both databases keep them: for each part how many tokens it has (16 bits, little-endian)
 * and then their states, `STATE_SIZE` signed bytes each; at the end the CRC-32 of all this.
 */

const COUNT_BYTES = 2;
const CRC_BYTES = 4;

/** Returns the states of some parts as one blob. */
export function packStates(parts: readonly Int8Array[]): Buffer {
  const bytes = parts.reduce((sum, part) => sum + COUNT_BYTES + part.length, 0);
  const packed = Buffer.alloc(bytes + CRC_BYTES);
  let at = 0;
  for (const part of parts) {
    at = packed.writeUInt16LE(part.length / STATE_SIZE, at);
    packed.set(new Uint8Array(part.buffer, part.byteOffset, part.length), at);
    at += part.length;
  }
  packed.writeUInt32LE(crc32(packed.subarray(0, bytes)), bytes);
  return packed;
}

/** Returns whether packed states are as they were packed. */
export function areWhole(packed: Buffer): boolean {
  const bytes = packed.length - CRC_BYTES;
  return bytes >= 0 && packed.readUInt32LE(bytes) === crc32(packed.subarray(0, bytes));
}

/** See assembly/nearness/index.ts. */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  readonly START: { readonly value: number };
  nearness(query: number, queryEnd: number, text: number, textEnd: number): number;
}

const PAGE_BYTES = 65_536;

let loaded: Exports | undefined;

/**
 * Returns what tells how near a memory's tokens are to those of a query, from 0 to 1, by their packed states: for each token
 * of the query the cosine of the most similar token, on average, in the part of the memory where that is most. NaN where
 * the memory has no tokens. This is late interaction, as in ColBERT (Khattab and Zaharia 2020).
 *
 * @param query its states, at least one; until another query is asked about
 */
export function nearnessTo(query: Int8Array): (packed: Uint8Array) => number {
  loaded ??= instantiate(compile('@memoryd/engine/storage/nearness')) as Exports;
  const { memory, START, nearness } = loaded;
  const [start, end] = [START.value, START.value + query.length];
  room(memory, end);
  let bytes = new Uint8Array(memory.buffer);
  bytes.set(new Uint8Array(query.buffer, query.byteOffset, query.length), start);
  return (packed) => {
    // The last state of a damaged text may be cut off. Bytes of memory that has grown since have no length.
    const needed = end + packed.length + STATE_SIZE;
    if (needed > bytes.length) {
      room(memory, needed);
      bytes = new Uint8Array(memory.buffer);
    }
    bytes.set(packed, end);
    return nearness(start, end, end, end + packed.length - CRC_BYTES);
  };
}

function room(memory: Exports['memory'], bytes: number): void {
  const missing = bytes - memory.buffer.byteLength;
  if (missing > 0) memory.grow(Math.ceil(missing / PAGE_BYTES));
}
