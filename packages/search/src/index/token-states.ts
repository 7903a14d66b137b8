import { crc32 } from 'node:zlib';
import { STATE_SIZE } from '@memoryd/minilm/parts';

/*
 * The format in which databases store the token states of a memory. For each part: the number of tokens (16 bits,
 * little-endian), then their states, `STATE_SIZE` signed bytes each. At the end: the CRC-32 of everything before.
 */

const COUNT_BYTES = 2;
export const CRC_BYTES = 4;

/**
 * Packs the states of a text's parts into one blob.
 *
 * @param earlier packed states of the parts before
 */
export function packStates(parts: readonly Int8Array[], earlier: Buffer = Buffer.alloc(CRC_BYTES)): Buffer {
  let at = earlier.length - CRC_BYTES;
  const bytes = parts.reduce((sum, part) => sum + COUNT_BYTES + part.length, at);
  const packed = Buffer.alloc(bytes + CRC_BYTES);
  earlier.copy(packed, 0, 0, at);
  for (const part of parts) {
    at = packed.writeUInt16LE(part.length / STATE_SIZE, at);
    packed.set(new Uint8Array(part.buffer, part.byteOffset, part.length), at);
    at += part.length;
  }
  packed.writeUInt32LE(crc32(packed.subarray(0, bytes)), bytes);
  return packed;
}

/** Returns true if packed states have a valid checksum. */
export function areIntactStates(packed: Buffer): boolean {
  const bytes = packed.length - CRC_BYTES;
  return bytes >= 0 && packed.readUInt32LE(bytes) === crc32(packed.subarray(0, bytes));
}
