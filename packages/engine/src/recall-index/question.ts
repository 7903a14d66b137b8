import type { Digest } from './entry.ts';
import type { Exchange } from './exchange.ts';
import { getStep, type Int8Vector } from './int8.ts';
import type { Kernel } from './kernel.ts';

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
  maxOfText?: number;
}

export interface BestWanted extends NearestWanted {
  /** The match of rows created in a time; such rows are found without words too. */
  dated?: Dated | undefined;
}

/** A row and about the cosine of its nearest vector and the query's. */
export interface Near {
  row: number;
  cosine: number;
}

/** Memories that are looked at more closely, those of the nearest codes, for each that is asked for. */
const LOOKED_AT_EACH = 6;

/** More rows than have one text. */
const ANY_NUMBER = 2 ** 32 - 1;

/** A kernel and the words and rows that it holds now. The same words or rows are not written to it again. */
export class Asked {
  readonly kernel: Kernel;
  readonly exchange: Exchange;
  #words: QuestionWords | undefined;
  #documentFrequencies: number[] = [];
  #rows: readonly number[] | undefined;

  constructor(kernel: Kernel, exchange: Exchange) {
    this.kernel = kernel;
    this.exchange = exchange;
  }

  /** Forgets which words and rows the kernel holds. */
  clear(): void {
    this.#words = undefined;
    this.#rows = undefined;
  }

  /** Writes words to the kernel. Returns in how many memories but semantic ones each occurs. */
  setWords(words: QuestionWords): number[] {
    if (this.#words === words) return this.#documentFrequencies;
    const { kernel, exchange } = this;
    this.#words = undefined;
    kernel.clearWords();
    this.#documentFrequencies = words.terms.map((terms) => kernel.word(exchange.writeDigests(terms), terms.length));
    this.#words = words;
    return this.#documentFrequencies;
  }

  /** Writes rows to the kernel, which answers about them in this order. The array must not change afterwards. */
  setRows(rows: readonly number[]): void {
    if (this.#rows === rows) return;
    const at = this.exchange.reserve(rows.length * 4);
    new Uint32Array(this.exchange.bytes.buffer, at, rows.length).set(rows);
    this.#rows = undefined;
    this.kernel.select(at, rows.length);
    this.#rows = rows;
  }
}

/** A question to an index. It ends at the next question and at the next change of the index. */
export class Question {
  readonly #asked: Asked;
  /** How many memories but semantic ones its namespace has in recall, whatever the filter. */
  readonly memoryCount: number;
  /** How many rows its users have, whatever the rest of the filter; undefined where it is about all, or about too many to tell. */
  readonly usersRowCount: number | undefined;

  constructor(asked: Asked) {
    this.#asked = asked;
    this.memoryCount = asked.kernel.memoryCount.value;
    this.usersRowCount = asked.kernel.fewCount.value || undefined;
  }

  /** Whether the question may be answered with a row. */
  isAllowed(row: number): boolean {
    return this.#asked.kernel.isAllowed(row) !== 0;
  }

  /** Returns words to look for, each any of some terms. */
  words(terms: readonly (readonly Digest[])[]): QuestionWords {
    return new QuestionWords(this.#asked, terms);
  }

  /** Returns in how many memories but semantic ones each of any number of words occurs. */
  countDocuments(words: readonly (readonly Digest[])[]): number[] {
    const max = this.#asked.kernel.MAX_WORDS.value;
    const frequencies: number[] = [];
    for (let from = 0; from < words.length; from += max) {
      frequencies.push(...this.words(words.slice(from, from + max)).documentFrequencies);
    }
    return frequencies;
  }

  /**
   * Returns the rows in scope that own the vectors nearest to the query's, nearest first, the newest first where they are
   * equally near.
   */
  nearest(query: Int8Vector, wanted: NearestWanted): Near[] {
    const { kernel, exchange } = this.#asked;
    const { count } = wanted;
    const lookedAt = count * LOOKED_AT_EACH;
    const step = getStep(query);
    return filledUp(kernel, wanted, (maxOfText) => {
      const [at, answer] = exchange.writeQuery(query, count * 8 + lookedAt * 2 * 4);
      const found = kernel.nearest(at, count, lookedAt, maxOfText, answer);
      return Array.from({ length: found }, (_, i) => ({
        row: exchange.view.getUint32(answer + i * 8, true),
        cosine: exchange.view.getFloat32(answer + i * 8 + 4, true) * step,
      }));
    });
  }
}

/** Words of a question, at most 128. */
export class QuestionWords {
  readonly #asked: Asked;
  /** By word: its terms, any of which stands for it. */
  readonly terms: readonly (readonly Digest[])[];

  constructor(asked: Asked, terms: readonly (readonly Digest[])[]) {
    const max = asked.kernel.MAX_WORDS.value;
    if (terms.length > max) throw new RangeError(`a question has at most ${max} words`);
    this.#asked = asked;
    this.terms = terms;
  }

  /** In how many memories but semantic ones each word occurs. */
  get documentFrequencies(): number[] {
    return this.#asked.setWords(this);
  }

  /**
   * Returns the rows in scope whose words match best, best first, the newest first where they match equally; only rows that
   * hold a word.
   *
   * @param shares what each word is worth
   */
  best(shares: ArrayLike<number>, wanted: BestWanted): number[] {
    const { kernel, exchange } = this.#asked;
    const { count, dated } = wanted;
    this.#asked.setWords(this);
    const best = filledUp(kernel, wanted, (maxOfText) => {
      for (let word = 0; word < this.terms.length; word++) kernel.matchWord(word, shares[word] as number);
      if (dated) kernel.matchCreated(dated.from, dated.until, dated.match);
      const at = exchange.reserve(count * 8);
      const found = kernel.takeBestMatches(count, maxOfText, at);
      return Array.from({ length: found }, (_, i) => ({ row: exchange.view.getUint32(at + i * 8, true) }));
    });
    return best.map(({ row }) => row);
  }

  /** Returns how often each word occurs in each of some rows: row r, word w is at `r * words + w`. */
  frequencies(rows: readonly number[]): Uint16Array {
    const { kernel, exchange } = this.#asked;
    this.#asked.setWords(this);
    this.#asked.setRows(rows);
    const stride = this.terms.length * 2;
    const bytes = rows.length * stride;
    const at = exchange.reserve(bytes);
    exchange.bytes.fill(0, at, at + bytes);
    for (let word = 0; word < this.terms.length; word++) kernel.writeFrequencies(word, at + word * 2, stride);
    return new Uint16Array(exchange.bytes.buffer, at, rows.length * this.terms.length).slice();
  }
}

/** Returns rows with at most `maxOfText` of each text first, and fills what is left of `count` with further rows. */
function filledUp<T extends Pick<Near, 'row'>>(
  kernel: Kernel,
  { count, maxOfText = ANY_NUMBER }: NearestWanted,
  find: (maxOfText: number) => T[],
): T[] {
  const found = find(maxOfText);
  if (found.length === count || kernel.leftOut.value === 0) return found;
  const rows = new Set(found.map(({ row }) => row));
  return [...found, ...find(ANY_NUMBER).filter(({ row }) => !rows.has(row))].slice(0, count);
}
