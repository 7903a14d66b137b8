import type { Int8Vector } from './int8.ts';

/** 32-bit words of the sign code of a vector with so many dimensions: one bit a dimension. */
export function codeWords(dimensions: number): number {
  return Math.ceil(dimensions / 32);
}

/** Writes the signs of a vector's components into `code` at `offset`: bit i % 32 of word i / 32 is set where positive. */
export function writeSignCode(
  components: ArrayLike<number>,
  dimensions: number,
  code: Uint32Array,
  offset: number,
): void {
  for (let word = 0; word < codeWords(dimensions); word++) {
    let bits = 0;
    const end = Math.min(dimensions, (word + 1) * 32);
    for (let i = word * 32; i < end; i++) if ((components[i] as number) > 0) bits |= 1 << (i & 31);
    code[offset + word] = bits >>> 0;
  }
}

/** The signed components of a quantised vector, without copying. */
export function componentsOf(vector: Int8Vector, dimensions: number): Int8Array {
  return new Int8Array(vector.buffer, vector.byteOffset, dimensions);
}

/** Number of bits set in a 32-bit word (Warren, Hacker's Delight, 2nd edition, figure 5-2). */
export function popCount(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
