import { codeWords, popCount, writeSignCode } from './sign-code.ts';

const FIRST_SLOTS = 1024;

/**
 * The sign codes of the vectors of one namespace, in memory: 48 bytes for 384 dimensions. The Hamming distance of two
 * sign codes grows with the angle between their vectors (Charikar 2002, "Similarity estimation techniques from
 * rounding algorithms"), so the nearest codes are the candidates, to be scored exactly by their vectors.
 *
 * It is a cache of the database, never the only copy. A memory may own several slots, one for each of its vectors.
 */
export class VectorIndex {
  readonly #dimensions: number;
  readonly #words: number;
  #codes: Uint32Array;
  #ordinals: Float64Array;
  #distances: Uint16Array;
  #size = 0;
  readonly #slots = new Map<number, number[]>();

  constructor(dimensions: number) {
    this.#dimensions = dimensions;
    this.#words = codeWords(dimensions);
    this.#codes = new Uint32Array(FIRST_SLOTS * this.#words);
    this.#ordinals = new Float64Array(FIRST_SLOTS);
    this.#distances = new Uint16Array(FIRST_SLOTS);
  }

  /** Adds a vector of a memory; only the signs of its components are looked at. */
  add(ordinal: number, components: ArrayLike<number>): void {
    if (this.#size === this.#ordinals.length) this.#grow();
    const slot = this.#size++;
    writeSignCode(components, this.#dimensions, this.#codes, slot * this.#words);
    this.#ordinals[slot] = ordinal;
    const slots = this.#slots.get(ordinal);
    if (slots) slots.push(slot);
    else this.#slots.set(ordinal, [slot]);
  }

  /** Removes all vectors of a memory, if it has any. */
  remove(ordinal: number): void {
    const slots = this.#slots.get(ordinal);
    if (!slots) return;
    this.#slots.delete(ordinal);
    // From the last, so that the slot that moves into the gap is never one that is to go too.
    for (const slot of slots.sort((a, b) => b - a)) this.#fill(slot);
  }

  /**
   * Ordinals of memories that own the nearest codes to a query's, nearest first, up to `count` codes and all that tie
   * with the last of them up to twice `count`.
   *
   * @param allows whether a memory may be in the answer
   */
  nearest(query: Float32Array, count: number, allows: (ordinal: number) => boolean): number[] {
    const code = new Uint32Array(this.#words);
    writeSignCode(query, this.#dimensions, code, 0);
    const histogram = this.#measure(code, allows);
    let threshold = 0;
    for (let seen = histogram[0] as number; seen < count && threshold < this.#dimensions; ) {
      seen += histogram[++threshold] as number;
    }
    return this.#within(threshold, count * 2);
  }

  #measure(code: Uint32Array, allows: (ordinal: number) => boolean): Uint32Array {
    const histogram = new Uint32Array(this.#dimensions + 1);
    const [codes, words, distances] = [this.#codes, this.#words, this.#distances];
    for (let slot = 0; slot < this.#size; slot++) {
      if (!allows(this.#ordinals[slot] as number)) {
        distances[slot] = 0xffff;
        continue;
      }
      let distance = 0;
      for (let word = 0, at = slot * words; word < words; word++, at++) {
        distance += popCount((codes[at] as number) ^ (code[word] as number));
      }
      distances[slot] = distance;
      histogram[distance] = (histogram[distance] as number) + 1;
    }
    return histogram;
  }

  #within(threshold: number, most: number): number[] {
    const near: number[] = [];
    for (let slot = 0; slot < this.#size; slot++) if ((this.#distances[slot] as number) <= threshold) near.push(slot);
    near.sort((a, b) => (this.#distances[a] as number) - (this.#distances[b] as number));
    return [...new Set(near.slice(0, most).map((slot) => this.#ordinals[slot] as number))];
  }

  #fill(gap: number): void {
    const last = --this.#size;
    if (gap === last) return;
    const words = this.#words;
    this.#codes.copyWithin(gap * words, last * words, (last + 1) * words);
    const ordinal = this.#ordinals[last] as number;
    this.#ordinals[gap] = ordinal;
    const slots = this.#slots.get(ordinal);
    if (slots) slots[slots.indexOf(last)] = gap;
  }

  #grow(): void {
    const slots = this.#ordinals.length * 2;
    const codes = new Uint32Array(slots * this.#words);
    codes.set(this.#codes);
    this.#codes = codes;
    const ordinals = new Float64Array(slots);
    ordinals.set(this.#ordinals);
    this.#ordinals = ordinals;
    this.#distances = new Uint16Array(slots);
  }
}
