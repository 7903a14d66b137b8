/** Seeded pseudo-random number generator: the same seed gives the same sequence. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns a number in [0, 1). Mulberry32 (Ettinger 2017); its 32 bits of state suffice for choosing test actions. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Returns an integer in [0, limit). */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  /** Returns a random item, or `undefined` if there are none. */
  pick<Item>(items: readonly Item[]): Item | undefined {
    return items[this.below(items.length)];
  }

  /** Returns a random word. With 12 or more letters, two words are unlikely to be equal. */
  word(letters: number): string {
    return Array.from({ length: letters }, () => 'bcdfghjklmnpqrtvwxz'[this.below(19)]).join('');
  }
}
