import { createHash } from 'node:crypto';

/** Texts that are remembered. They take 24 MiB; storage finds the repeats of further texts. */
const MAX_SEEN = 1_000_000;

const MIN_SLOTS = 1024;

/** Numbers per slot: two of the key, and one of the content. */
const NUMBERS = 3;

/** The state of a key: it is new, or was seen with the same or with another content. */
export type Seen = 'new' | 'same' | 'other';

/** Remembers which texts a source has had, as digests in a table that grows up to `MAX_SEEN` texts. */
export class SeenTexts {
  #table = new Uint32Array(MIN_SLOTS * NUMBERS);
  #count = 0;
  readonly #max: number;

  /** @param max maximum number of texts that are remembered */
  constructor(max = MAX_SEEN) {
    this.#max = max;
  }

  /** Returns what is known about a key, and remembers it with the content of its text. */
  see(key: readonly unknown[], content: string): Seen {
    const id = digest(JSON.stringify(key));
    const high = id.readUInt32LE(0);
    // Never 0, which marks an empty slot.
    const low = (id.readUInt32LE(4) | 1) >>> 0;
    const text = digest(content).readUInt32LE(0);
    const at = this.#find(this.#table, high, low);
    if (this.#table[at + 1] !== 0) return this.#table[at + 2] === text ? 'same' : 'other';
    if (this.#count < this.#max) this.#add(high, low, text);
    return 'new';
  }

  #add(high: number, low: number, text: number): void {
    if (this.#count * 2 * NUMBERS >= this.#table.length) this.#grow();
    this.#table.set([high, low, text], this.#find(this.#table, high, low));
    this.#count += 1;
  }

  #grow(): void {
    const table = new Uint32Array(this.#table.length * 2);
    for (let at = 0; at < this.#table.length; at += NUMBERS) {
      const [high = 0, low = 0, text = 0] = this.#table.subarray(at, at + NUMBERS);
      if (low !== 0) table.set([high, low, text], this.#find(table, high, low));
    }
    this.#table = table;
  }

  /** Returns the position of the slot of a key, or of the empty slot where it belongs. */
  #find(table: Uint32Array, high: number, low: number): number {
    const slots = table.length / NUMBERS;
    let slot = high % slots;
    while (table[slot * NUMBERS + 1] !== 0) {
      if (table[slot * NUMBERS] === high && table[slot * NUMBERS + 1] === low) break;
      slot = (slot + 1) % slots;
    }
    return slot * NUMBERS;
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
