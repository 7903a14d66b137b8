/** Returns the next pseudorandom number, from 0 (inclusive) to 1 (exclusive). */
export type Random = () => number;

/**
 * Creates a seeded generator: mulberry32, a 32-bit Weyl sequence with a SplitMix finalizer. Suitable for drawing
 * samples and words; not for secrets.
 *
 * @param seeds integers; the same integers in the same order give the same sequence
 */
export function createRandom(...seeds: number[]): Random {
  let state = 0;
  for (const seed of seeds) state = mixBits((state ^ seed) + 0x9e3779b9);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns a random integer from 0 to `below - 1`. */
export function drawIndex(random: Random, below: number): number {
  return Math.floor(random() * below);
}

/** Returns a random item; all items have the same probability. Throws RangeError if there are no items. */
export function drawItem<T>(random: Random, items: readonly T[]): T {
  const item = items[drawIndex(random, items.length)];
  if (item === undefined) throw new RangeError('items must not be empty');
  return item;
}

/** 32-bit finalizer of MurmurHash3: maps similar seeds to very different states. */
function mixBits(value: number): number {
  let bits = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}
