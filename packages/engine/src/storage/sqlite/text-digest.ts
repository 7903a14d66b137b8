import { createHash } from 'node:crypto';

/** The text under which memories are exact duplicates: Unicode NFC without white space around it. */
export function canonicalText(content: string): string {
  return content.normalize('NFC').trim();
}

/** Equal for exact duplicates: the first 128 bits of the SHA-256 of the canonical text. */
export function textDigest(content: string): Buffer {
  return createHash('sha256').update(canonicalText(content)).digest().subarray(0, 16);
}
