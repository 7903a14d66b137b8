import { hash } from 'node:crypto';

/**
 * Longer runs of combining marks than any writing has: normalising takes time by the square of their length, minutes
 * for a text of nothing else. A text with one is its own canonical form.
 */
const ENDLESS_MARKS = /(?<!\p{M})\p{M}{128}/u;

/** The text under which memories are exact duplicates: Unicode NFC without white space around it. */
export function canonicalText(content: string): string {
  return ENDLESS_MARKS.test(content) ? content : content.normalize('NFC').trim();
}

/** Equal for exact duplicates: the first 128 bits of the SHA-256 of the canonical text. */
export function textDigest(content: string): Buffer {
  return hash('sha256', canonicalText(content), 'buffer').subarray(0, 16);
}

/** For each of some digests the place of the first that is equal. */
export function firstEqual(digests: readonly string[]): Int32Array {
  const firsts = new Map<string, number>();
  return Int32Array.from(digests, (digest, place) => {
    const first = firsts.get(digest) ?? place;
    if (first === place) firsts.set(digest, place);
    return first;
  });
}
