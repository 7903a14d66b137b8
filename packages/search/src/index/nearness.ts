import { STATE_SIZE } from '@memoryd/minilm/parts';
import { CRC_BYTES } from './token-states.ts';
import { compile, instantiate } from './webassembly.ts';

/** See assembly/nearness/index.ts. */
interface Kernel {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  readonly START: { readonly value: number };
  nearness(query: number, queryEnd: number, text: number, textEnd: number): number;
}

const PAGE_BYTES = 65_536;

/** Minimum growth of the kernel's memory. Each growth detaches the buffer. Untouched pages use no RAM. */
const MIN_GROWTH_BYTES = 4 * 2 ** 20;

/** Maximum bytes of a query's states. 256 states suffice, because the bundled model returns at most 254 per query. */
const MAX_QUERY_BYTES = 256 * STATE_SIZE;

/** Limit and fill of a cache of token states. */
export interface StatesCache {
  /** Limit of cached states; a single memory may exceed the limit. */
  maxBytes: number;
  /** Receives the number of cached memories and the bytes of their states. May be shared with another thread. */
  fill?: Float64Array;
}

/** Addresses of packed states in the kernel's memory. */
interface Range {
  start: number;
  end: number;
}

/**
 * Scores memories by late interaction, as in ColBERT (Khattab and Zaharia 2020). For each token of the query, the
 * cosine of the most similar token of a part is computed. The score of the part is the mean of these cosines. The score
 * of a memory, from 0 to 1, is the score of its best part, or NaN if the memory has no tokens.
 *
 * Token states are cached. When the cache is full, the states that were cached first are evicted first.
 */
export class Nearness {
  readonly #kernel = instantiate(compile('@memoryd/search/nearness')) as Kernel;
  readonly #maxBytes: number;
  readonly #fill: Float64Array;
  readonly #query = this.#kernel.START.value;
  readonly #first = this.#query + MAX_QUERY_BYTES;
  #queryEnd = this.#query;
  /** Positions of the cached states by memory ordinal, oldest first. The states are stored in a ring buffer. */
  readonly #places = new Map<number, Range>();
  #next = this.#first;
  /** True once the ring buffer has been full. */
  #isWrapped = false;
  #bytes = new Uint8Array(this.#kernel.memory.buffer);

  constructor({ maxBytes, fill = new Float64Array(2) }: StatesCache) {
    this.#maxBytes = maxBytes;
    this.#fill = fill.fill(0);
    this.#reserve(this.#first);
  }

  /**
   * Sets the query.
   *
   * @param states the states of the query's tokens, at least one
   */
  setQuery(states: Int8Array): void {
    const query = states.subarray(0, MAX_QUERY_BYTES);
    this.#queryEnd = this.#query + query.length;
    this.#bytes.set(new Uint8Array(query.buffer, query.byteOffset, query.length), this.#query);
    this.#bytes.fill(0, this.#queryEnd, this.#first);
  }

  /** Returns the score of a memory, or undefined if its states are not cached. */
  getScore(ordinal: number): number | undefined {
    const range = this.#places.get(ordinal);
    return range && this.#kernel.nearness(this.#query, this.#queryEnd, range.start, range.end - CRC_BYTES);
  }

  /** Returns true if the states of a memory are cached. */
  has(ordinal: number): boolean {
    return this.#places.has(ordinal);
  }

  /** Returns true if packed states of this length can be cached without an eviction. */
  hasRoom(length: number): boolean {
    return !this.#isWrapped && this.#next + length <= this.#first + this.#maxBytes;
  }

  /** Caches the packed states of a memory. */
  add(ordinal: number, packed: Uint8Array): void {
    this.forget(ordinal);
    const range = this.#makeRoom(packed.length);
    this.#bytes.set(packed, range.start);
    this.#places.set(ordinal, range);
    this.#count(1, packed.length);
  }

  /** Caches the packed states of a memory and returns the score of the memory. */
  addAndScore(ordinal: number, packed: Uint8Array): number {
    this.add(ordinal, packed);
    return this.getScore(ordinal) as number;
  }

  /** Removes the states of a memory from the cache. */
  forget(ordinal: number): void {
    const range = this.#places.get(ordinal);
    if (!range) return;
    this.#places.delete(ordinal);
    this.#count(-1, range.start - range.end);
  }

  #count(memories: number, bytes: number): void {
    this.#fill[0] = (this.#fill[0] as number) + memories;
    this.#fill[1] = (this.#fill[1] as number) + bytes;
  }

  #makeRoom(length: number): Range {
    if (this.#next + length > this.#first + this.#maxBytes) {
      this.#forgetOldest({ start: this.#next, end: Number.POSITIVE_INFINITY });
      this.#next = this.#first;
      this.#isWrapped = true;
    }
    const range = { start: this.#next, end: this.#next + length };
    this.#forgetOldest(range);
    // The kernel reads whole states, and the last state of a corrupted text may be truncated.
    this.#reserve(range.end + STATE_SIZE);
    this.#next = range.end;
    return range;
  }

  /** Evicts the states that overlap a range. These states are always the oldest. */
  #forgetOldest({ start, end }: Range): void {
    for (const [ordinal, range] of this.#places) {
      if (range.start >= end || range.end <= start) return;
      this.forget(ordinal);
    }
  }

  #reserve(end: number): void {
    const { memory } = this.#kernel;
    const missing = end - memory.buffer.byteLength;
    if (missing <= 0) return;
    memory.grow(Math.ceil(Math.max(missing, MIN_GROWTH_BYTES) / PAGE_BYTES));
    this.#bytes = new Uint8Array(memory.buffer);
  }
}
