/** Numbers from 0 (included) to 1 (excluded) that the seed alone decides. */
export type Random = () => number;

/**
 * A seeded generator: the 32-bit counter of Weyl steps with the finalizer of SplitMix that is known as mulberry32.
 * Good enough to draw samples and words with; not for secrets.
 *
 * @param seeds whole numbers; each combination is a sequence of its own
 */
export function seededRandom(...seeds: number[]): Random {
  let state = 0;
  for (const seed of seeds) state = scramble((state ^ seed) + 0x9e3779b9);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A whole number from 0 to `below - 1`. */
export function randomIndex(random: Random, below: number): number {
  return Math.floor(random() * below);
}

/** One of the items, each as likely as the others. */
export function randomItem<T>(random: Random, items: readonly T[]): T {
  const item = items[randomIndex(random, items.length)];
  if (item === undefined) throw new RangeError('there is nothing to choose from');
  return item;
}

/** The 32-bit finalizer of MurmurHash3: close seeds become states far apart. */
function scramble(value: number): number {
  let bits = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}
