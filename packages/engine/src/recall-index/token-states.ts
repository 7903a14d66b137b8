import { crc32 } from 'node:zlib';
import { STATE_SIZE } from '@memoryd/minilm/parts';

/*
 * The states of a memory's tokens as both databases keep them: for each part how many tokens it has (16 bits, little-endian)
 * and then their states, `STATE_SIZE` signed bytes each; at the end the CRC-32 of all this.
 */

const COUNT_BYTES = 2;
export const CRC_BYTES = 4;

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
