import type { Tier } from '@memoryd/contract';
import { DAMPING } from '../core/ranking/bm25.ts';
import type { MemoryFilter } from '../ports/storage-memories.ts';
import { NO_ROW } from '../ports/storage-search.ts';
import { type Digest, getOrdinal } from './entry.ts';
import { Exchange } from './exchange.ts';
import { getStep, type Int8Vector, int8Bytes } from './int8.ts';
import { type Kernel, newKernel } from './kernel.ts';
import { Nearness } from './nearness.ts';
import { Asked, Question } from './question.ts';
import { SessionOrder } from './session-order.ts';

/** How the kernel spells tiers; what is new is episodic, and 3 stands for any in a question. */
const TIER_NUMBERS: Readonly<Record<Tier, number>> = { episodic: 0, working: 1, semantic: 2 };
const ANY_TIER = 3;

/** The most dimensions of a vector: what the kernel has room for. */
export const MAX_DIMENSIONS = 3840;

/** Terms that one call clears of what was left behind by memories that are gone. */
const TIDIED_TERMS = 2000;

/**
 * Rows without a memory, and terms of such rows, that an index may always have: 120 MiB of each at the most. A term takes
 * as much where no other memory has it, and is swept out where one does.
 */
const GONE_ALLOWED = 2 ** 20;

/** As many bytes as the memory of a kernel may have. */
const MAX_BYTES = 2 ** 32 - 1;

/** The model whose vectors an index takes; its number is that of the entries. */
export interface IndexedModel {
  number: number;
  modelId: string;
  dimensions: number;
}

/** What changes of a memory while its text and labels stay. */
export interface MemoryState {
  tier: Tier;
  expiresAt: number | null;
  /** Whether another memory corrects it. */
  superseded: boolean;
}

/** Which memories a question may be answered with. */
export interface Scope {
  namespace: Digest;
  now: number;
  /** Labels of users and of agents, one of each of which must be on a memory; any will do where absent. */
  users?: readonly Digest[] | undefined;
  agents?: readonly Digest[] | undefined;
  /** All of them must be on a memory. */
  labels: readonly Digest[];
  filter: Pick<MemoryFilter, 'tier' | 'since' | 'until' | 'superseded'>;
}

/** Columns that speak of rows; `NO_ROW` where there is no row before or after, and 0 for no session or speaker. */
export interface Description {
  ordinals: Float64Array;
  createdAts: Float64Array;
  storedAts: Float64Array;
  sessions: Int32Array;
  speakers: Uint32Array;
  lengths: Uint32Array;
  previous: Int32Array;
  next: Int32Array;
  /** Equal where texts are; some others are equal too, and all that hold no word. */
  texts: Uint32Array;
  importances: Float32Array;
  marks: Uint16Array;
}

/** Maximum bytes of token states in memory: about 140,000 sentences. Reading 140 from the file takes 1 ms of a recall. */
const MAX_STATES_BYTES = 128 * 2 ** 20;

/** As the exchange writes them. */
const DIGEST_BYTES = 8;

/** Of one row. */
const DESCRIPTION_BYTES = 54;

/**
 * The words, vectors and places of all memories in recall, of every namespace, in the memory of one thread: about 320
 * bytes a memory, its vector of 384 dimensions included, and 4 bytes for each different word of it; up to 8 MiB of
 * vectors that were measured exactly, and up to 128 MiB of token states that recalls have read. It holds digests, never words.
 *
 * It is a cache of the database: made of entries, never the only copy. A row is a memory's place in it. One question is
 * asked after the other.
 *
 * Words: an inverted index that is scored exhaustively. Vectors: the nearest by the signs of their components (Charikar
 * 2002, "Similarity estimation techniques from rounding algorithms"), and of those the nearest by four bits each.
 */
export class RecallIndex {
  readonly model: IndexedModel | undefined;
  readonly #kernel: Kernel = newKernel();
  readonly #exchange = new Exchange(this.#kernel);
  readonly #asked = new Asked(this.#kernel, this.#exchange);
  readonly #sessionOrder = new SessionOrder(this.#kernel);
  /** Keeps the states of tokens that were read until what recall knows of a memory changes. */
  readonly nearness = new Nearness(MAX_STATES_BYTES);

  /**
   * Throws where the model has more dimensions than `MAX_DIMENSIONS`.
   *
   * @param maxBytes of memory that it may take, below 4 GiB
   */
  constructor(model?: IndexedModel, maxBytes = MAX_BYTES) {
    if (model && model.dimensions > MAX_DIMENSIONS) {
      throw new Error(`vectors may have at most ${MAX_DIMENSIONS} dimensions`);
    }
    this.model = model;
    const { least, perWord, most } = DAMPING;
    this.#kernel.open(model?.number ?? 0, model?.dimensions ?? 0, least, perWord, most, maxBytes);
  }

  /** Takes in an entry, of a new memory or in place of the one that its memory had. Throws NoRoom. */
  takeIn(entry: Buffer): void {
    this.nearness.forget(getOrdinal(entry));
    const at = this.#exchange.writeEntry(entry);
    this.#exchange.inRoom(() => this.#kernel.takeIn(at));
  }

  /** Sets what may change of a memory while its entry stays, if it is in; a new one is episodic, expires never and is corrected by none. */
  setState(ordinal: number, { tier, expiresAt, superseded }: MemoryState): void {
    const end = expiresAt ?? Number.POSITIVE_INFINITY;
    this.#kernel.setState(ordinal, TIER_NUMBERS[tier], end, Number(superseded));
  }

  /** Whether a memory is in with this state. */
  hasState(ordinal: number, { tier, expiresAt, superseded }: MemoryState): boolean {
    const row = this.getRow(ordinal);
    return (
      row !== NO_ROW &&
      this.#kernel.tier(row) === TIER_NUMBERS[tier] &&
      this.#kernel.expiresAt(row) === (expiresAt ?? Number.POSITIVE_INFINITY) &&
      this.isSuperseded(row) === superseded
    );
  }

  /** Takes a memory out, if it is in. */
  takeOut(ordinal: number): void {
    this.nearness.forget(ordinal);
    this.#kernel.takeOut(ordinal);
  }

  /** Clears some of what was left behind by memories that are gone; to be called after changes. */
  tidy(): void {
    this.#kernel.tidy(TIDIED_TERMS);
  }

  /** Memories that are in. */
  get size(): number {
    return this.#kernel.rowCount.value - this.#kernel.goneRows.value;
  }

  /** What part of its rows, or of the terms in them where that is more, belongs to memories that are gone: 0 to 1. */
  get goneShare(): number {
    const { goneRows, goneTerms, heldTerms } = this.#kernel;
    return Math.max(getShare(goneRows.value, this.size), getShare(goneTerms.value, heldTerms.value));
  }

  /**
   * Whether it is to be made anew: most of its rows, or of the terms in them, belong to memories that are gone or have
   * changed. Their numbers are not used again, so it would grow, and in the end be full, however few memories are in.
   * More has gone than is in, so that making it anew takes no longer than taking in what has gone did.
   */
  get isWorn(): boolean {
    const { goneRows, goneTerms, heldTerms } = this.#kernel;
    return prevails(goneRows.value, this.size) || prevails(goneTerms.value, heldTerms.value);
  }

  /** Whether it holds just what these entries say: their words, labels, places and vectors. */
  holds(entries: Iterable<Uint8Array>): boolean {
    this.#kernel.expectNothing();
    for (const entry of entries) this.#kernel.expectEntry(this.#exchange.writeEntry(entry));
    return this.#kernel.isAsExpected() !== 0;
  }

  /** Begins a question, and ends the one before. */
  ask({ namespace, now, users = [], agents, labels, filter }: Scope): Question {
    this.#sessionOrder.orderPostponed();
    this.#asked.clear();
    const at = this.#exchange.writeDigests([namespace, ...users]);
    this.#kernel.scope(at, at + DIGEST_BYTES, users.length, now);
    const { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY, tier } = filter;
    if (filter.since !== undefined || filter.until !== undefined || tier !== undefined) {
      this.#kernel.narrow(since, until, tier === undefined ? ANY_TIER : TIER_NUMBERS[tier]);
    }
    if (filter.superseded === false) this.#kernel.narrowToCurrent();
    const narrowings = [...(agents ? [agents] : []), ...labels.map((label) => [label])];
    for (const any of narrowings) this.#kernel.narrowToAny(this.#exchange.writeDigests(any), any.length);
    return new Question(this.#asked);
  }

  /**
   * Returns cosines of a query's vector and the nearest of each row's, by row, to about .001: by their 8 bits, where `cosines` and
   * `nearest` go by four. Rows without vectors are left out.
   *
   * @param readVectors returns the vectors of a row, of the index's model, as its entry has them: those that were measured
   * lately are at hand, the others are asked for
   */
  exactCosines(
    query: Float32Array,
    rows: readonly number[],
    readVectors: (row: number) => readonly Int8Vector[],
  ): Map<number, number> {
    const at = this.#exchange.reserve(query.byteLength + int8Bytes(query.length));
    new Float32Array(this.#exchange.bytes.buffer, at, query.length).set(query);
    const cosines = new Map<number, number>();
    for (const row of rows) {
      if (cosines.has(row)) continue;
      const atHand = this.#kernel.exactAtHand(at, row);
      const cosine = Number.isNaN(atHand) ? this.#measure(at, at + query.byteLength, row, readVectors(row)) : atHand;
      if (cosine !== undefined) cosines.set(row, cosine);
    }
    return cosines;
  }

  /** The cosine of the query and the nearest of a row's vectors, which are written to `at` in turn. */
  #measure(query: number, at: number, row: number, vectors: readonly Int8Vector[]): number | undefined {
    if (vectors.length === 0) return undefined;
    const cosines = vectors.map((vector) => {
      this.#exchange.bytes.set(vector, at);
      return this.#kernel.exactProduct(query, at);
    });
    if (vectors.length === 1) this.#kernel.keepExact(row, at);
    return Math.max(...cosines);
  }

  /** Returns about the cosine of the query and the nearest vector of each row, to some thousandths; NaN where it has none. */
  cosines(query: Int8Vector, rows: readonly number[]): Float32Array {
    this.#asked.setRows(rows);
    const [at, answer] = this.#exchange.writeQuery(query, rows.length * 4);
    this.#kernel.cosines(at, getStep(query), answer);
    return new Float32Array(this.#exchange.bytes.buffer, answer, rows.length).slice();
  }

  /** Returns what is known of rows besides their words and vectors, in columns. */
  describe(rows: readonly number[]): Description {
    const count = rows.length;
    this.#asked.setRows(rows);
    const answer = this.#exchange.reserve(count * DESCRIPTION_BYTES);
    this.#kernel.describe(answer);
    // One copy with a view for each column: to make a buffer takes longer than to fill it.
    const buffer = this.#exchange.bytes.buffer.slice(answer, answer + count * DESCRIPTION_BYTES);
    const numbers = count * 24;
    return {
      ordinals: new Float64Array(buffer, 0, count),
      createdAts: new Float64Array(buffer, count * 8, count),
      storedAts: new Float64Array(buffer, count * 16, count),
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

  /** The row of a memory; `NO_ROW` where it is not in recall. */
  getRow(ordinal: number): number {
    return toRow(this.#kernel.rowOfOrdinal(ordinal));
  }

  ordinal(row: number): number {
    return this.#kernel.ordinal(row);
  }

  /** The row before it in its session, by time of creation and then by ordinal; `NO_ROW` at the start. */
  previous(row: number): number {
    return toRow(this.#kernel.previous(row));
  }

  next(row: number): number {
    return toRow(this.#kernel.next(row));
  }

  /** Whether it was distilled from others. */
  isSemantic(row: number): boolean {
    return this.#kernel.tier(row) === TIER_NUMBERS.semantic;
  }

  /** Whether another memory corrects it. */
  isSuperseded(row: number): boolean {
    return this.#kernel.isSuperseded(row) !== 0;
  }
}

function getShare(gone: number, left: number): number {
  return gone === 0 ? 0 : gone / (gone + left);
}

function prevails(gone: number, left: number): boolean {
  return gone > Math.max(GONE_ALLOWED, left);
}

/** The kernel says NONE as the highest 32-bit number, which a host reads as -1. */
function toRow(row: number): number {
  return row < 0 ? NO_ROW : row;
}
