import type { CreatedMatch } from '../ranking/query-terms.ts';
import type { Digest } from './entry.ts';
import type { Exchange } from './exchange.ts';
import { getStep, type Int8Vector } from './int8.ts';
import type { Kernel } from './kernel.ts';

export interface SearchLimits {
  /** Maximum number of results. */
  count: number;
  /** Maximum rows per distinct text; extra rows come last and only fill remaining slots. Unlimited if omitted. */
  maxOfText?: number;
}

export interface MatchLimits extends SearchLimits {
  /** Adds each `match` to the score of the rows in scope created in its time, including rows that match no word. */
  dated?: readonly CreatedMatch[];
}

/** A row and the approximate cosine of the query and the row's nearest vector. */
export interface NearRow {
  row: number;
  cosine: number;
}

/** Candidates per requested result: the rows with the nearest sign codes, which are rescored. */
const RESCORED_PER_RESULT = 6;

/** Bytes that the kernel writes per sampled row: the row and its place in the order. */
const HEAP_ITEM_BYTES = 8;

/** Limit that is higher than any number of rows. */
const UNLIMITED = 2 ** 32 - 1;

/** Tracks the words and rows last written to a kernel, so that the same words or rows are not written again. */
export class KernelInput {
  readonly kernel: Kernel;
  readonly exchange: Exchange;
  #words: IndexQueryWords | undefined;
  #documentFrequencies: number[] = [];
  #rows: readonly number[] | undefined;

  constructor(kernel: Kernel, exchange: Exchange) {
    this.kernel = kernel;
    this.exchange = exchange;
  }

  /** Marks the kernel's words and rows as stale. */
  clear(): void {
    this.#words = undefined;
    this.#rows = undefined;
  }

  /**
   * Writes words to the kernel and returns the document frequency of each, semantic memories excluded. The frequencies
   * are approximate if the users in scope have few rows.
   */
  setWords(words: IndexQueryWords): number[] {
    if (this.#words === words) return this.#documentFrequencies;
    const { kernel, exchange } = this;
    this.#words = undefined;
    kernel.clearWords();
    this.#documentFrequencies = words.terms.map((terms) =>
      kernel.addQueryWord(exchange.writeDigests(terms), terms.length),
    );
    this.#words = words;
    return this.#documentFrequencies;
  }

  /** Writes rows to the kernel. Results are in the order of the rows. The array must not change afterwards. */
  setRows(rows: readonly number[]): void {
    if (this.#rows === rows) return;
    const at = this.exchange.reserve(rows.length * 4);
    new Uint32Array(this.exchange.bytes.buffer, at, rows.length).set(rows);
    this.#rows = undefined;
    this.kernel.select(at, rows.length);
    this.#rows = rows;
  }
}

/** A query of an index. Becomes invalid when the next query begins or the index changes. */
export class IndexQuery {
  readonly #input: KernelInput;
  /**
   * Number of memories of the namespace in the index, without semantic memories, regardless of the filter. Can include
   * expired memories.
   */
  readonly memoryCount: number;
  /**
   * Number of rows of the users in the scope, regardless of the rest of the filter. Undefined if the scope names no
   * users, or if these users have no rows or too many rows to list.
   */
  readonly userRowCount: number | undefined;

  constructor(input: KernelInput) {
    this.#input = input;
    this.memoryCount = input.kernel.memoryCount.value;
    this.userRowCount = input.kernel.smallScopeCount.value || undefined;
  }

  /** Returns true if a row is in the scope of the query. */
  isAllowed(row: number): boolean {
    return this.#input.kernel.isAllowed(row) !== 0;
  }

  /** Removes a row from the scope of the query. */
  exclude(row: number): void {
    this.#input.kernel.excludeRow(row);
  }

  /** Adds a row to the scope of the query. The row must be live and of the namespace and, if given, of the users. */
  include(row: number): void {
    this.#input.kernel.includeRow(row);
  }

  /** Creates query words. Each word is a list of alternative terms. Throws RangeError for more than 128 words. */
  words(terms: readonly (readonly Digest[])[]): IndexQueryWords {
    return new IndexQueryWords(this.#input, terms);
  }

  /** Returns the document frequency of each word, semantic memories excluded. The number of words is unlimited. */
  countDocuments(words: readonly (readonly Digest[])[]): number[] {
    return this.#countInBatches(words, (batch) => batch.documentFrequencies);
  }

  /**
   * Returns the number of memories in scope that contain each word, semantic memories excluded, or `limit` if there are
   * more. The number of words is unlimited.
   */
  countInScope(words: readonly (readonly Digest[])[], limit: number): number[] {
    return this.#countInBatches(words, (batch) => batch.countInScope(limit));
  }

  #countInBatches(words: readonly (readonly Digest[])[], count: (batch: IndexQueryWords) => number[]): number[] {
    const max = this.#input.kernel.MAX_WORDS.value;
    const counts: number[] = [];
    for (let from = 0; from < words.length; from += max)
      counts.push(...count(this.words(words.slice(from, from + max))));
    return counts;
  }

  /** Returns the number of memories in scope, semantic memories excluded. */
  countMemories(): number {
    return this.#input.kernel.countMemories();
  }

  /**
   * Returns the rows of a random sample of the texts in scope, at most `count`, in random order. Includes one row per
   * text, and neither semantic memories nor rows without vectors. The sample depends only on the texts.
   */
  sampleTexts(count: number): number[] {
    const { kernel, exchange } = this.#input;
    const at = exchange.reserve(count * HEAP_ITEM_BYTES);
    const found = kernel.sampleTexts(count, at);
    return Array.from({ length: found }, (_, i) => exchange.view.getUint32(at + i * HEAP_ITEM_BYTES, true));
  }

  /**
   * Returns the rows in scope with the vectors nearest to the query vector, nearest first. The search is approximate.
   * Among equally near rows, the row with the highest ordinal is first.
   */
  nearest(query: Int8Vector, limits: SearchLimits): NearRow[] {
    const { kernel, exchange } = this.#input;
    const { count } = limits;
    const rescored = count * RESCORED_PER_RESULT;
    const step = getStep(query);
    return findUpToCount(kernel, limits, (maxOfText) => {
      const [at, result] = exchange.writeQuery(query, count * 8 + rescored * 2 * 4);
      const found = kernel.findNearest(at, count, rescored, maxOfText, result);
      return Array.from({ length: found }, (_, i) => ({
        row: exchange.view.getUint32(result + i * 8, true),
        cosine: exchange.view.getFloat32(result + i * 8 + 4, true) * step,
      }));
    });
  }
}

/** The words of a query, at most 128. */
export class IndexQueryWords {
  readonly #input: KernelInput;
  /** The alternative terms of each word. */
  readonly terms: readonly (readonly Digest[])[];

  constructor(input: KernelInput, terms: readonly (readonly Digest[])[]) {
    const max = input.kernel.MAX_WORDS.value;
    if (terms.length > max) throw new RangeError(`a query may have at most ${max} words`);
    this.#input = input;
    this.terms = terms;
  }

  /** The document frequency of each word, semantic memories excluded. */
  get documentFrequencies(): number[] {
    return this.#input.setWords(this);
  }

  /** See `IndexQuery.countInScope`. */
  countInScope(limit: number): number[] {
    this.#input.setWords(this);
    return this.terms.map((_, word) => this.#input.kernel.countInScope(word, limit));
  }

  /**
   * Returns the rows in scope that contain a word or match a time range, best match first. Among equal matches, the row
   * with the highest ordinal is first.
   *
   * @param shares weight of each word
   */
  best(shares: ArrayLike<number>, limits: MatchLimits): number[] {
    const { kernel, exchange } = this.#input;
    const { count, dated = [] } = limits;
    this.#input.setWords(this);
    const best = findUpToCount(kernel, limits, (maxOfText) => {
      for (let word = 0; word < this.terms.length; word++) kernel.matchWord(word, shares[word] as number);
      for (const { from, until, match } of dated) kernel.matchCreated(from, until, match);
      const at = exchange.reserve(count * 8);
      const found = kernel.takeBestMatches(count, maxOfText, at);
      return Array.from({ length: found }, (_, i) => ({ row: exchange.view.getUint32(at + i * 8, true) }));
    });
    return best.map(({ row }) => row);
  }

  /**
   * Returns the frequency of each word in each row, at most 255.
   *
   * @returns the frequency of word w in row r at index `r * words + w`
   */
  frequencies(rows: readonly number[]): Uint16Array {
    const { kernel, exchange } = this.#input;
    this.#input.setWords(this);
    this.#input.setRows(rows);
    const stride = this.terms.length * 2;
    const bytes = rows.length * stride;
    const at = exchange.reserve(bytes);
    exchange.bytes.fill(0, at, at + bytes);
    for (let word = 0; word < this.terms.length; word++) kernel.writeFrequencies(word, at + word * 2, stride);
    return new Uint16Array(exchange.bytes.buffer, at, rows.length * this.terms.length).slice();
  }
}

/** Returns at most `maxOfText` rows per text, then fills the remaining slots of `count` with other rows. */
function findUpToCount<T extends Pick<NearRow, 'row'>>(
  kernel: Kernel,
  { count, maxOfText = UNLIMITED }: SearchLimits,
  find: (maxOfText: number) => T[],
): T[] {
  const found = find(maxOfText);
  if (found.length === count || kernel.hasSkippedTexts.value === 0) return found;
  const rows = new Set(found.map(({ row }) => row));
  return [...found, ...find(UNLIMITED).filter(({ row }) => !rows.has(row))].slice(0, count);
}
