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

/** Room for the longest query: the bundled model tells at most 254 states of one. */
const MAX_QUERY_BYTES = 256 * STATE_SIZE;

/** Where packed states stand in the memory of the kernel. */
interface Place {
  start: number;
  end: number;
}

/**
 * Tells how near the tokens of memories are to those of a query, from 0 to 1, by their packed states: for each token of the
 * query the cosine of the most similar token, on average, in the part of the memory where that is most; NaN where a memory
 * has no tokens. This is late interaction, as in ColBERT (Khattab and Zaharia 2020).
 *
 * The states that it was given last stay at hand.
 */
export class Nearness {
  readonly #kernel = instantiate(compile('@memoryd/engine/recall-index/nearness')) as Kernel;
  readonly #maxBytes: number;
  readonly #query = this.#kernel.START.value;
  readonly #first = this.#query + MAX_QUERY_BYTES;
  #queryEnd = this.#query;
  /** The states at hand, by the ordinals of memories, from the oldest on. They stand in a ring, one behind the other. */
  readonly #places = new Map<number, Place>();
  #next = this.#first;
  #bytes = new Uint8Array(this.#kernel.memory.buffer);

  /** @param maxBytes of states that stay at hand; those of a single memory may take more */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#reserve(this.#first);
  }

  /** Sets the states of the query that is asked about from now on, at least one. */
  ask(states: Int8Array): void {
    const query = states.subarray(0, MAX_QUERY_BYTES);
    this.#queryEnd = this.#query + query.length;
    this.#bytes.set(new Uint8Array(query.buffer, query.byteOffset, query.length), this.#query);
    this.#bytes.fill(0, this.#queryEnd, this.#first);
  }

  /** Returns how near a memory is to the query; undefined where its states are not at hand. */
  get(ordinal: number): number | undefined {
    const place = this.#places.get(ordinal);
    return place && this.#measure(place);
  }

  /** Takes the packed states of a memory, and returns how near it is to the query. */
  take(ordinal: number, packed: Uint8Array): number {
    this.forget(ordinal);
    const place = this.#makeRoom(packed.length);
    this.#bytes.set(packed, place.start);
    this.#places.set(ordinal, place);
    return this.#measure(place);
  }

  /** Forgets the states of a memory, which are to be taken anew. */
  forget(ordinal: number): void {
    this.#places.delete(ordinal);
  }

  #measure({ start, end }: Place): number {
    return this.#kernel.nearness(this.#query, this.#queryEnd, start, end - CRC_BYTES);
  }

  #makeRoom(length: number): Place {
    if (this.#next + length > this.#first + this.#maxBytes) {
      this.#forgetOldest({ start: this.#next, end: Number.POSITIVE_INFINITY });
      this.#next = this.#first;
    }
    const place = { start: this.#next, end: this.#next + length };
    this.#forgetOldest(place);
    // The last state of a damaged text may be cut off, and is read whole.
    this.#reserve(place.end + STATE_SIZE);
    this.#next = place.end;
    return place;
  }

  /** Forgets what stands in a place, which the oldest states do if any. */
  #forgetOldest({ start, end }: Place): void {
    for (const [ordinal, place] of this.#places) {
      if (place.start >= end || place.end <= start) return;
      this.#places.delete(ordinal);
    }
  }

  #reserve(end: number): void {
    const { memory } = this.#kernel;
    const missing = end - memory.buffer.byteLength;
    if (missing <= 0) return;
    memory.grow(Math.ceil(missing / PAGE_BYTES));
    this.#bytes = new Uint8Array(memory.buffer);
  }
}
