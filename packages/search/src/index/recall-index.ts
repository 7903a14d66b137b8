import type { Tier } from '@memoryd/contract';
import type { MemoryFilter } from '../filter.ts';
import { DAMPING } from '../ranking/bm25.ts';
import { NO_ROW } from '../ranking/signals.ts';
import { type Digest, getOrdinal } from './entry.ts';
import { Exchange } from './exchange.ts';
import { FilterColumns } from './filter-columns.ts';
import { IndexQuery, KernelInput } from './index-query.ts';
import { getInt8Bytes, getStep, type Int8Vector } from './int8.ts';
import { createKernel, type Kernel } from './kernel.ts';
import { Nearness, type StatesCache } from './nearness.ts';
import { SessionOrder } from './session-order.ts';

/** Tier numbers of the kernel. New memories are episodic; in a filter, 3 matches any tier. */
const TIER_NUMBERS: Readonly<Record<Tier, number>> = { episodic: 0, working: 1, semantic: 2 };
const ANY_TIER = 3;

/** Maximum dimensions of a vector, limited by the kernel's histogram. */
export const MAX_DIMENSIONS = 3840;

/** Maximum number of terms per call of `sweepTerms` whose postings are searched for removed rows. */
const SWEPT_TERMS_PER_CALL = 2000;

/**
 * An index with at most this number of removed rows, and at most this number of terms in removed rows, needs no
 * rebuild. That many rows, or that many terms, take about 120 MiB at most. After `sweepTerms`, a term of a removed row
 * takes memory only if no other memory contains the term.
 */
const MAX_TOLERATED_REMOVED = 2 ** 20;

/** Default limit of a kernel's memory: the highest 32-bit number of bytes, because addresses have 32 bits. */
const MAX_BYTES = 2 ** 32 - 1;

/** The model whose vectors are indexed. `number` is the model number in the index entries. */
export interface IndexedModel {
  number: number;
  modelId: string;
  dimensions: number;
}

/** The fields of a memory that can change while the index entry of the memory stays the same. */
export interface MemoryState {
  tier: Tier;
  expiresAt: number | null;
  /** Time from which the memory holds; null for its creation time. */
  beginsAt: number | null;
  /** Time from which the memory no longer holds, or from which another memory replaces it; null if never. */
  endsAt: number | null;
  replacement: Replacement;
}

/**
 * Whether another memory replaces a memory: none does, one does from `endsAt` on, or the two times do not tell when the
 * memory holds.
 */
type Replacement = 'none' | 'lasting' | 'varying';

const REPLACEMENT_NUMBERS: Readonly<Record<Replacement, number>> = { none: 0, lasting: 1, varying: 2 };

/** The memories that a query can return. */
export interface Scope {
  namespace: Digest;
  now: number;
  /** A memory must have a label of `users` and a label of `agents`; undefined matches any user or agent. */
  users?: readonly Digest[] | undefined;
  agents?: readonly Digest[] | undefined;
  /** A memory must have a label of each list. */
  labels: readonly (readonly Digest[])[];
  filter: Pick<MemoryFilter, 'tier' | 'since' | 'until' | 'at' | 'holding' | 'superseded'>;
  /** A memory must have been stored at this time or before; undefined matches any memory. */
  known?: number | undefined;
  /** A memory must have a byte other than 0 at the place of its row; undefined matches any memory. */
  rows?: Uint8Array | undefined;
}

/**
 * Fields of rows, in columns. `previous` and `next` are `NO_ROW` at the ends of a session. A session or speaker of 0
 * means that the row has none.
 */
export interface Description {
  ordinals: Float64Array;
  createdAts: Float64Array;
  storedAts: Float64Array;
  begins: Float64Array;
  ends: Float64Array;
  sessions: Int32Array;
  speakers: Uint32Array;
  lengths: Uint32Array;
  previous: Int32Array;
  next: Int32Array;
  /**
   * Hashes of the terms of texts and tags, equal for memories with equal texts and tags. Other memories can collide,
   * and all memories without terms collide.
   */
  texts: Uint32Array;
  importances: Float32Array;
  marks: Uint16Array;
}

/** Bytes of a digest in the exchange buffer. */
const DIGEST_BYTES = 8;

/** Bytes that the kernel writes per row for a `Description`. */
const DESCRIPTION_BYTES = 70;

/**
 * The words, vectors and session order of all memories in recall, of every namespace, in the memory of one thread. A
 * memory takes about 340 bytes, including a vector of 384 dimensions, and at least 8 bytes for each different word.
 * Caches take up to 8 MiB for vectors with exact cosines, and up to a limit for token states: reading the states of 140
 * memories from the file takes 1 ms. The index stores digests instead of words.
 *
 * The index is a cache of the database that is built from index entries. A row is a memory's number in the index. Only
 * one query is active at a time.
 *
 * Words: an inverted index that is scored exhaustively. Vectors: the nearest by the signs of their components (Charikar
 * 2002, "Similarity estimation techniques from rounding algorithms"), rescored with four bits per component.
 */
export class RecallIndex {
  readonly model: IndexedModel | undefined;
  readonly #kernel: Kernel = createKernel();
  readonly #exchange = new Exchange(this.#kernel);
  readonly #input = new KernelInput(this.#kernel, this.#exchange);
  readonly #sessionOrder = new SessionOrder(this.#kernel);
  readonly #states: StatesCache;
  #nearness: Nearness | undefined;
  #columns: FilterColumns | undefined;
  readonly #varying = new Set<number>();

  /**
   * Throws if the model has more dimensions than `MAX_DIMENSIONS`.
   *
   * @param maxBytes limit of the kernel's memory, below 4 GiB
   */
  constructor(model?: IndexedModel, maxBytes = MAX_BYTES, states: StatesCache = { maxBytes: 0 }) {
    this.#states = states;
    if (model && model.dimensions > MAX_DIMENSIONS) {
      throw new Error(
        `the vectors of the embedding model must have at most ${MAX_DIMENSIONS} dimensions, but have ${model.dimensions}; ` +
          'choose another model',
      );
    }
    this.model = model;
    const { min, perWord, max } = DAMPING;
    this.#kernel.open(model?.number ?? 0, model?.dimensions ?? 0, min, perWord, max, maxBytes);
  }

  /**
   * Late-interaction scores of memories, created at the first access. Adding, replacing or removing a memory drops the
   * cached token states of the memory.
   */
  get nearness(): Nearness {
    this.#nearness ??= new Nearness(this.#states);
    return this.#nearness;
  }

  /** Values of fields for filters, created at the first access. */
  get columns(): FilterColumns {
    this.#columns ??= new FilterColumns(this);
    return this.#columns;
  }

  /** Caches the packed token states of a memory. Returns false, without effect, if the cache is full. */
  cacheStates(ordinal: number, packed: Uint8Array): boolean {
    if (this.nearness.has(ordinal)) return true;
    if (!this.nearness.hasRoom(packed.length)) return false;
    this.nearness.add(ordinal, packed);
    return true;
  }

  /**
   * Adds a memory's index entry, or replaces the previous index entry of the memory. Throws IndexFullError if the
   * kernel's memory is full.
   */
  putEntry(entry: Buffer): void {
    this.#nearness?.forget(getOrdinal(entry));
    this.#columns?.noteChange(getOrdinal(entry));
    const at = this.#exchange.writeEntry(entry);
    this.#exchange.guardMemory(() => this.#kernel.putEntry(at));
  }

  /** Sets the state of an indexed memory. The state of a new memory is episodic, without expiry, end or replacement. */
  setState(ordinal: number, { tier, expiresAt, beginsAt, endsAt, replacement }: MemoryState): void {
    const [expiry, end] = [expiresAt ?? Number.POSITIVE_INFINITY, endsAt ?? Number.POSITIVE_INFINITY];
    this.#columns?.noteChange(ordinal);
    const begin = beginsAt ?? Number.POSITIVE_INFINITY;
    this.#kernel.setState(ordinal, TIER_NUMBERS[tier], expiry, begin, end, REPLACEMENT_NUMBERS[replacement]);
    if (replacement === 'varying') this.#varying.add(ordinal);
    else this.#varying.delete(ordinal);
  }

  /** Ordinals of the memories whose times in the index do not tell when they hold. */
  get varying(): Iterable<number> {
    return this.#varying;
  }

  /** Returns true if a memory is indexed with the given state. */
  hasState(ordinal: number, { tier, expiresAt, beginsAt, endsAt, replacement }: MemoryState): boolean {
    const row = this.getRow(ordinal);
    return (
      row !== NO_ROW &&
      this.#kernel.tier(row) === TIER_NUMBERS[tier] &&
      this.#kernel.expiresAt(row) === (expiresAt ?? Number.POSITIVE_INFINITY) &&
      (beginsAt === null || this.#kernel.beginsAt(row) === beginsAt) &&
      this.#kernel.endsAt(row) === (endsAt ?? Number.POSITIVE_INFINITY) &&
      this.#kernel.replacement(row) === REPLACEMENT_NUMBERS[replacement]
    );
  }

  /** Removes a memory from the index. No effect if the memory is not indexed. */
  removeMemory(ordinal: number): void {
    this.#nearness?.forget(ordinal);
    this.#varying.delete(ordinal);
    this.#kernel.removeMemory(ordinal);
  }

  /**
   * Deletes postings and vectors of removed memories if enough memories were removed. Each call processes a limited
   * number of terms. Must be called after memories were removed or replaced, because no other method frees the space of
   * postings and vectors.
   */
  sweepTerms(): void {
    this.#kernel.sweepTerms(SWEPT_TERMS_PER_CALL);
  }

  /** Number of rows, including those of removed memories. */
  get rowCount(): number {
    return this.#kernel.rowCount.value;
  }

  /** Number of indexed memories. */
  get size(): number {
    return this.#kernel.rowCount.value - this.#kernel.removedRows.value;
  }

  /** Fraction of rows, or of terms if that fraction is larger, that belong to removed memories: 0 to 1. */
  get removedShare(): number {
    const { removedRows, removedTerms, liveTerms } = this.#kernel;
    return Math.max(toShare(removedRows.value, this.size), toShare(removedTerms.value, liveTerms.value));
  }

  /**
   * True if the index should be rebuilt: the removed rows, or the terms of removed rows, exceed both
   * `MAX_TOLERATED_REMOVED` and the number of live rows or terms. A memory whose terms or labels change gets a new row,
   * and the old row is removed. Row numbers are not reused, so an index that is never rebuilt becomes full even if few
   * memories remain.
   */
  get needsRebuild(): boolean {
    const { removedRows, removedTerms, liveTerms } = this.#kernel;
    return exceedsLive(removedRows.value, this.size) || exceedsLive(removedTerms.value, liveTerms.value);
  }

  /**
   * Returns true if the fingerprint of the index equals that of the given index entries. The fingerprint covers terms,
   * labels, fields and the signs of the vectors.
   */
  holds(entries: Iterable<Uint8Array>): boolean {
    this.#kernel.resetExpected();
    for (const entry of entries) this.#kernel.expectEntry(this.#exchange.writeEntry(entry));
    return this.#kernel.matchesExpected() !== 0;
  }

  /**
   * Begins a query. Ends the previous query. If the filter has `holding` or `superseded`, the caller must exclude the
   * memories of `varying` that do not meet it. With `known`, the caller must exclude and include the memories that have changed since.
   */
  beginQuery({ namespace, now, users = [], agents, labels, filter, known, rows }: Scope): IndexQuery {
    this.#sessionOrder.orderPostponed();
    this.#input.clear();
    const at = this.#exchange.writeDigests([namespace, ...users]);
    this.#kernel.beginScope(at, at + DIGEST_BYTES, users.length, now);
    const { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY, tier } = filter;
    if (filter.since !== undefined || filter.until !== undefined || tier !== undefined) {
      this.#kernel.narrowToTimeAndTier(since, until, tier === undefined ? ANY_TIER : TIER_NUMBERS[tier]);
    }
    const { holding = false, superseded } = filter;
    if (holding || superseded === false) this.#kernel.narrowToHolding(filter.at ?? now, Number(!holding));
    if (known !== undefined) this.#kernel.narrowToStored(known);
    if (rows) this.#kernel.narrowToRows(this.#exchange.writeBytes(rows));
    const narrowings = [...(agents ? [agents] : []), ...labels];
    for (const any of narrowings) this.#kernel.narrowToAny(this.#exchange.writeDigests(any), any.length);
    return new IndexQuery(this.#input);
  }

  /**
   * Returns the cosine of the query and the nearest vector of each row, by row, accurate to about .001. The cosines are
   * computed with 8 bits per component, while `cosines` and `nearest` use 4 bits. Rows without vectors are omitted.
   *
   * @param readVectors returns the vectors in a row's index entry, computed by the index's model; called for rows whose
   * vectors are not cached
   */
  exactCosines(
    query: Float32Array,
    rows: readonly number[],
    readVectors: (row: number) => readonly Int8Vector[],
  ): Map<number, number> {
    const at = this.#exchange.reserve(query.byteLength + getInt8Bytes(query.length));
    new Float32Array(this.#exchange.bytes.buffer, at, query.length).set(query);
    const cosines = new Map<number, number>();
    for (const row of rows) {
      if (cosines.has(row)) continue;
      const cached = this.#kernel.cachedExactProduct(at, row);
      const cosine = Number.isNaN(cached) ? this.#measure(at, at + query.byteLength, row, readVectors(row)) : cached;
      if (cosine !== undefined) cosines.set(row, cosine);
    }
    return cosines;
  }

  /**
   * Returns the cosine of the query and the nearest of a row's vectors. Returns undefined for an empty list. Copies
   * each vector to the address `at`.
   */
  #measure(query: number, at: number, row: number, vectors: readonly Int8Vector[]): number | undefined {
    if (vectors.length === 0) return undefined;
    const cosines = vectors.map((vector) => {
      this.#exchange.bytes.set(vector, at);
      return this.#kernel.exactProduct(query, at);
    });
    if (vectors.length === 1) this.#kernel.cacheExact(row, at);
    return Math.max(...cosines);
  }

  /**
   * Returns the approximate cosine of the query and the nearest vector of each row, computed with 4 bits per component;
   * NaN for rows without vectors.
   */
  cosines(query: Int8Vector, rows: readonly number[]): Float32Array {
    this.#input.setRows(rows);
    const [at, result] = this.#exchange.writeQuery(query, rows.length * 4);
    this.#kernel.cosines(at, getStep(query), result);
    return new Float32Array(this.#exchange.bytes.buffer, result, rows.length).slice();
  }

  /** Returns fields of rows in columns, in the order of `rows`. */
  describe(rows: readonly number[]): Description {
    const count = rows.length;
    this.#input.setRows(rows);
    const result = this.#exchange.reserve(count * DESCRIPTION_BYTES);
    this.#kernel.describe(result);
    // One copy with a view for each column, because allocating a buffer takes longer than filling it.
    const buffer = this.#exchange.bytes.buffer.slice(result, result + count * DESCRIPTION_BYTES);
    const numbers = count * 40;
    return {
      ordinals: new Float64Array(buffer, 0, count),
      createdAts: new Float64Array(buffer, count * 8, count),
      storedAts: new Float64Array(buffer, count * 16, count),
      begins: new Float64Array(buffer, count * 24, count),
      ends: new Float64Array(buffer, count * 32, count),
      sessions: new Int32Array(buffer, numbers, count),
      speakers: new Uint32Array(buffer, numbers + count * 4, count),
      lengths: new Uint32Array(buffer, numbers + count * 8, count),
      previous: new Int32Array(buffer, numbers + count * 12, count),
      next: new Int32Array(buffer, numbers + count * 16, count),
      texts: new Uint32Array(buffer, numbers + count * 20, count),
      importances: new Float32Array(buffer, numbers + count * 24, count),
      marks: new Uint16Array(buffer, numbers + count * 28, count),
    };
  }

  /** Returns the row of a memory; `NO_ROW` if the memory is not indexed. */
  getRow(ordinal: number): number {
    return toRow(this.#kernel.findRow(ordinal));
  }

  ordinal(row: number): number {
    return this.#kernel.ordinal(row);
  }

  /**
   * Returns the previous row of the session, in order of creation time and ordinal; `NO_ROW` at the start or without a
   * session.
   */
  previous(row: number): number {
    return toRow(this.#kernel.previous(row));
  }

  next(row: number): number {
    return toRow(this.#kernel.next(row));
  }

  isSemantic(row: number): boolean {
    return this.#kernel.tier(row) === TIER_NUMBERS.semantic;
  }

  /** Returns true if another memory was stored to supersede the memory, whether or not it has begun or ended. */
  hasSuccessor(row: number): boolean {
    return this.#kernel.replacement(row) !== 0;
  }
}

function toShare(removed: number, live: number): number {
  return removed === 0 ? 0 : removed / (removed + live);
}

function exceedsLive(removed: number, live: number): boolean {
  return removed > Math.max(MAX_TOLERATED_REMOVED, live);
}

/** The kernel's NONE is the highest 32-bit number, which the host reads as -1. */
function toRow(row: number): number {
  return row < 0 ? NO_ROW : row;
}
