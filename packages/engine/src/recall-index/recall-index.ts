import type { Tier } from '@memoryd/contract';
import { MemoryError } from '@memoryd/contract/errors';
import { WEIGHTS } from '../core/ranking/weights.ts';
import type { MemoryFilter } from '../ports/storage-memories.ts';
import { NO_ROW } from '../ports/storage-search.ts';
import type { Digest } from './entry.ts';
import { componentsOf, type Int8Vector, int8Bytes, stepOf } from './int8.ts';
import { type Kernel, newKernel } from './kernel.ts';
import { SessionOrder } from './session-order.ts';

/** How the kernel spells tiers; what is new is episodic, and 3 stands for any in a question. */
const TIER_NUMBERS: Readonly<Record<Tier, number>> = { episodic: 0, working: 1, semantic: 2 };
const ANY_TIER = 3;

/** Most dimensions of a vector: what the kernel has room for. */
export const MOST_DIMENSIONS = 3840;

/** Terms that one call clears of what was left behind by memories that are gone. */
const TIDIED_TERMS = 2000;

/**
 * Rows without a memory, and terms of such rows, that an index may always have: 120 MiB of each at the most. A term takes
 * as much where no other memory has it, and is swept out where one does.
 */
const GONE_ALLOWED = 2 ** 20;

/** As many bytes as the memory of a kernel may have. */
const MOST_BYTES = 2 ** 32 - 1;

/** Memories that are looked at more closely, those of the nearest codes, for each that is asked for. */
const LOOKED_AT_EACH = 6;

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
  /** All of them must be on a memory. */
  labels: readonly Digest[];
  filter: Pick<MemoryFilter, 'tier' | 'since' | 'until'>;
}

/** A time of creation, from 0 to below `until`, and how well a memory of that time matches. */
interface Dated {
  from: number;
  until: number;
  match: number;
}

/** How many rows a search is to find at most. */
export interface NearestWanted {
  count: number;
  /** Rows with one text beyond so many come last, and only as far as others leave room; any number may come if left out. */
  mostOfText?: number;
}

export interface BestWanted extends NearestWanted {
  /** What it is worth to be of a date; such rows are found without words too. */
  dated?: Dated | undefined;
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

/** Of one row. */
const DESCRIPTION_BYTES = 54;

/** An index has no room for an entry, and is of no use any more; or none for a question, and is as it was. */
export class NoRoom extends MemoryError {
  constructor(cause: unknown) {
    super('UNAVAILABLE', 'there are more memories than one process can search', { cause });
  }
}

/** A row and about the cosine of its nearest vector and the query's. */
export interface Near {
  row: number;
  cosine: number;
}

/**
 * The words, vectors and places of all memories in recall, of every namespace, in the memory of one thread: about 320
 * bytes a memory, its vector of 384 dimensions included, and 4 bytes for each different word of it; and up to 8 MiB of
 * vectors that were measured exactly. It holds digests, never words.
 *
 * It is a cache of the database: made of entries, never the only copy. A row is a memory's place in it. A question is
 * asked in steps, one question after the other: `ask`, then `words`, then what is best, then `select` and the rest.
 *
 * Words: an inverted index that is scored exhaustively. Vectors: the nearest by the signs of their components (Charikar
 * 2002, "Similarity estimation techniques from rounding algorithms"), and of those the nearest by four bits each.
 */
export class RecallIndex {
  readonly #kernel: Kernel = newKernel();
  readonly #sessionOrder = new SessionOrder(this.#kernel);
  readonly #model: IndexedModel | undefined;
  #view = new DataView(new ArrayBuffer(0));
  #bytes = new Uint8Array(0);
  #wordCount = 0;
  #selectedCount = 0;

  /**
   * Throws where the model has more dimensions than `MOST_DIMENSIONS`.
   *
   * @param mostBytes of memory that it may take, below 4 GiB
   */
  constructor(model?: IndexedModel, mostBytes = MOST_BYTES) {
    if (model && model.dimensions > MOST_DIMENSIONS) {
      throw new Error(`vectors may have at most ${MOST_DIMENSIONS} dimensions`);
    }
    this.#model = model;
    const { k1, b, pivotLength } = WEIGHTS.bm25;
    this.#kernel.open(model?.number ?? 0, model?.dimensions ?? 0, k1 * (1 - b), (k1 * b) / pivotLength, mostBytes);
  }

  get model(): IndexedModel | undefined {
    return this.#model;
  }

  /** Takes in an entry, of a new memory or in place of the one that its memory had. Throws NoRoom. */
  takeIn(entry: Uint8Array): void {
    const at = this.#writeEntry(entry);
    this.#inRoom(() => this.#kernel.takeIn(at));
  }

  /** Sets what may change of a memory while its entry stays, if it is in; a new one is episodic, expires never and is corrected by none. */
  setState(ordinal: number, { tier, expiresAt, superseded }: MemoryState): void {
    const end = expiresAt ?? Number.POSITIVE_INFINITY;
    this.#kernel.setState(ordinal, TIER_NUMBERS[tier], end, Number(superseded));
  }

  /** Whether a memory is in with this state. */
  hasState(ordinal: number, { tier, expiresAt, superseded }: MemoryState): boolean {
    const row = this.rowOf(ordinal);
    return (
      row !== NO_ROW &&
      this.#kernel.tier(row) === TIER_NUMBERS[tier] &&
      this.#kernel.expiresAt(row) === (expiresAt ?? Number.POSITIVE_INFINITY) &&
      this.isSuperseded(row) === superseded
    );
  }

  /** Takes a memory out, if it is in. */
  takeOut(ordinal: number): void {
    this.#kernel.takeOut(ordinal);
  }

  /** Clears some of what was left behind by memories that are gone; to be called after changes. */
  tidy(): void {
    this.#kernel.tidy(TIDIED_TERMS);
  }

  /** Most words of a question. */
  get mostWords(): number {
    return this.#kernel.MOST_WORDS.value;
  }

  /** Memories that are in. */
  get size(): number {
    return this.#kernel.rowCount.value - this.#kernel.goneRows.value;
  }

  /** What part of its rows, or of the terms in them where that is more, belongs to memories that are gone: 0 to 1. */
  get goneShare(): number {
    const { goneRows, goneTerms, heldTerms } = this.#kernel;
    return Math.max(shareOf(goneRows.value, this.size), shareOf(goneTerms.value, heldTerms.value));
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
    for (const entry of entries) this.#kernel.expectEntry(this.#writeEntry(entry));
    return this.#kernel.isAsExpected() !== 0;
  }

  /** Begins a question. Answers how many memories but semantic ones its namespace has in recall, whatever the filter. */
  ask({ namespace, now, labels, filter }: Scope): number {
    this.#sessionOrder.orderPostponed();
    const at = this.#exchange(8);
    this.#writeDigest(at, namespace);
    this.#kernel.scope(at, now);
    const { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY, tier } = filter;
    if (filter.since !== undefined || filter.until !== undefined || tier !== undefined) {
      this.#kernel.narrow(since, until, tier === undefined ? ANY_TIER : TIER_NUMBERS[tier]);
    }
    for (const label of labels) {
      this.#writeDigest(at, label);
      this.#kernel.narrowToLabel(at);
    }
    return this.#kernel.memoryCount.value;
  }

  /**
   * Sets the words of the question, each any of some terms. Answers in how many memories but semantic ones each occurs.
   *
   * @param words at most `mostWords`
   */
  words(words: readonly (readonly Digest[])[]): number[] {
    if (words.length > this.mostWords) throw new RangeError(`a question has at most ${this.mostWords} words`);
    this.#kernel.clearWords();
    this.#wordCount = words.length;
    return words.map((terms) => {
      const at = this.#exchange(terms.length * 8);
      terms.forEach((term, i) => {
        this.#writeDigest(at + i * 8, term);
      });
      return this.#kernel.word(at, terms.length);
    });
  }

  /**
   * The rows in scope whose words match best, best first, the newest first where they match equally; only rows that
   * hold a word.
   *
   * @param shares what each word is worth
   */
  bestByWords(shares: ArrayLike<number>, wanted: BestWanted): number[] {
    const { count, dated } = wanted;
    const best = this.#filledUp(wanted, (mostOfText) => {
      for (let word = 0; word < this.#wordCount; word++) this.#kernel.matchWord(word, shares[word] as number);
      if (dated) this.#kernel.matchCreated(dated.from, dated.until, dated.match);
      const at = this.#exchange(count * 8);
      const found = this.#kernel.takeBestMatches(count, mostOfText, at);
      return Array.from({ length: found }, (_, i) => ({ row: this.#view.getUint32(at + i * 8, true) }));
    });
    return best.map(({ row }) => row);
  }

  /**
   * The rows in scope that own the vectors nearest to the query's, nearest first, the newest first where they are equally
   * near.
   */
  nearest(query: Int8Vector, wanted: NearestWanted): Near[] {
    return this.#filledUp(wanted, (mostOfText) => this.#nearest(query, wanted.count, mostOfText));
  }

  #nearest(query: Int8Vector, count: number, mostOfText: number): Near[] {
    const most = count * LOOKED_AT_EACH;
    const queryBytes = this.#kernel.queryVectorBytes();
    const at = this.#exchange(queryBytes + count * 8 + most * 2 * 4);
    this.#writeQuery(at, query);
    const answer = at + queryBytes;
    const step = stepOf(query);
    const found = this.#kernel.nearest(at, count, most, mostOfText, answer);
    return Array.from({ length: found }, (_, i) => ({
      row: this.#view.getUint32(answer + i * 8, true),
      cosine: this.#view.getFloat32(answer + i * 8 + 4, true) * step,
    }));
  }

  /** What a search finds with no more than so many rows of one text, and in the room that is left, what it finds with more. */
  #filledUp<T extends Pick<Near, 'row'>>(
    { count, mostOfText = ANY_NUMBER }: NearestWanted,
    find: (mostOfText: number) => T[],
  ): T[] {
    const found = find(mostOfText);
    if (found.length === count || this.#kernel.leftOut.value === 0) return found;
    const rows = new Set(found.map(({ row }) => row));
    return [...found, ...find(ANY_NUMBER).filter(({ row }) => !rows.has(row))].slice(0, count);
  }

  /**
   * Cosines of a query's vector and the nearest of each row's, by row, to about .001: by their 8 bits, where `cosines` and
   * `nearest` go by four. Rows without vectors are left out.
   *
   * @param vectorsOf the vectors of a row, of the index's model, as its entry has them: those that were measured lately
   * are at hand, the others are asked for
   */
  exactCosines(
    query: Float32Array,
    rows: readonly number[],
    vectorsOf: (row: number) => readonly Int8Vector[],
  ): Map<number, number> {
    const at = this.#exchange(query.byteLength + int8Bytes(query.length));
    new Float32Array(this.#bytes.buffer, at, query.length).set(query);
    const cosines = new Map<number, number>();
    for (const row of rows) {
      if (cosines.has(row)) continue;
      const atHand = this.#kernel.exactAtHand(at, row);
      const cosine = Number.isNaN(atHand) ? this.#measure(at, at + query.byteLength, row, vectorsOf(row)) : atHand;
      if (cosine !== undefined) cosines.set(row, cosine);
    }
    return cosines;
  }

  /** The cosine of the query and the nearest of a row's vectors, which are written to `at` in turn. */
  #measure(query: number, at: number, row: number, vectors: readonly Int8Vector[]): number | undefined {
    if (vectors.length === 0) return undefined;
    const cosines = vectors.map((vector) => {
      this.#bytes.set(vector, at);
      return this.#kernel.exactProduct(query, at);
    });
    if (vectors.length === 1) this.#kernel.keepExact(row, at);
    return Math.max(...cosines);
  }

  /** Sets the rows of which `frequencies`, `cosines` and `describe` speak, in this order. */
  select(rows: readonly number[]): void {
    const at = this.#exchange(rows.length * 4);
    new Uint32Array(this.#bytes.buffer, at, rows.length).set(rows);
    this.#kernel.select(at, rows.length);
    this.#selectedCount = rows.length;
  }

  /** How often each word of the question occurs in each selected row: row r, word w is at `r * words + w`. */
  frequencies(): Uint16Array {
    const stride = this.#wordCount * 2;
    const bytes = this.#selectedCount * stride;
    const at = this.#exchange(bytes);
    this.#bytes.fill(0, at, at + bytes);
    for (let word = 0; word < this.#wordCount; word++) this.#kernel.writeFrequencies(word, at + word * 2, stride);
    return new Uint16Array(this.#bytes.buffer, at, this.#selectedCount * this.#wordCount).slice();
  }

  /** About the cosine of the query and the nearest vector of each selected row, to some thousandths; NaN where it has none. */
  cosines(query: Int8Vector): Float32Array {
    const queryBytes = this.#kernel.queryVectorBytes();
    const at = this.#exchange(queryBytes + this.#selectedCount * 4);
    this.#writeQuery(at, query);
    this.#kernel.cosines(at, stepOf(query), at + queryBytes);
    return new Float32Array(this.#bytes.buffer, at + queryBytes, this.#selectedCount).slice();
  }

  /** What is known of the selected rows besides their words and vectors, in columns. */
  describe(): Description {
    const count = this.#selectedCount;
    const answer = this.#exchange(count * DESCRIPTION_BYTES);
    this.#kernel.describe(answer);
    // One copy with a view for each column: to make a buffer takes longer than to fill it.
    const buffer = this.#bytes.buffer.slice(answer, answer + count * DESCRIPTION_BYTES);
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

  /** The number by which `describe` tells a session; 0 where no row was ever in it. */
  session(digest: Digest): number {
    const at = this.#exchange(8);
    this.#writeDigest(at, digest);
    return this.#kernel.sessionOf(at);
  }

  /** Whether the question may be answered with a row. */
  isAllowed(row: number): boolean {
    return this.#kernel.isAllowed(row) !== 0;
  }

  /** The row of a memory; `NO_ROW` where it is not in recall. */
  rowOf(ordinal: number): number {
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

  /** Does what may need more memory than there is. */
  #inRoom<T>(work: () => T): T {
    try {
      return work();
    } catch (cause) {
      throw this.#kernel.outOfRoom.value ? new NoRoom(cause) : cause;
    }
  }

  #exchange(bytes: number): number {
    const at = this.#inRoom(() => this.#kernel.exchange(Math.max(bytes, LEAST_EXCHANGE_BYTES)));
    const { buffer } = this.#kernel.memory;
    if (this.#bytes.buffer !== buffer) {
      this.#bytes = new Uint8Array(buffer);
      this.#view = new DataView(buffer);
    }
    return at >>> 0;
  }

  #writeEntry(entry: Uint8Array): number {
    const at = this.#exchange(entry.length);
    this.#bytes.set(entry, at);
    return at;
  }

  #writeDigest(at: number, digest: Digest): void {
    this.#view.setUint32(at, digest % 2 ** 32, true);
    this.#view.setUint32(at + 4, Math.floor(digest / 2 ** 32), true);
  }

  #writeQuery(at: number, query: Int8Vector): void {
    const components = componentsOf(query);
    this.#bytes.fill(0, at, at + this.#kernel.queryVectorBytes());
    this.#bytes.set(new Uint8Array(components.buffer, components.byteOffset, components.length), at);
  }
}

/** So that the exchange is hardly ever allocated anew. */
const LEAST_EXCHANGE_BYTES = 65_536;

/** More rows than have one text. */
const ANY_NUMBER = 2 ** 32 - 1;

function shareOf(gone: number, left: number): number {
  return gone === 0 ? 0 : gone / (gone + left);
}

function prevails(gone: number, left: number): boolean {
  return gone > Math.max(GONE_ALLOWED, left);
}

/** The kernel says NONE as the highest 32-bit number, which a host reads as -1. */
function toRow(row: number): number {
  return row < 0 ? NO_ROW : row;
}
