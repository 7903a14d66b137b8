import { compile, instantiate } from './webassembly.ts';

interface Value {
  readonly value: number;
}

/**
 * What the compiled kernel exports (see assembly/index.ts, which says what each does). Addresses are places in
 * `memory`, whose buffer is another one after it has grown.
 */
export interface Kernel {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly MAX_WORDS: Value;
  readonly rowCount: Value;
  readonly goneRows: Value;
  readonly heldTerms: Value;
  readonly goneTerms: Value;
  readonly memoryCount: Value;
  readonly fewCount: Value;
  readonly postponedCount: Value;
  /** 1 where the last search left out a row because others had its text. */
  readonly leftOut: Value;
  /** 1 once something did not fit. */
  readonly outOfRoom: Value;
  open(
    model: number,
    dimensions: number,
    leastDamping: number,
    dampingPerTerm: number,
    mostDamping: number,
    mostBytes: number,
  ): void;
  exchange(bytes: number): number;
  takeIn(entry: number): void;
  setState(ordinal: number, tier: number, expiresAt: number, superseded: number): void;
  takeOut(ordinal: number): void;
  tidy(mostTerms: number): void;
  rowOfOrdinal(ordinal: number): number;
  postponedRow(place: number): number;
  clearPostponed(): void;
  lastRow(session: number): number;
  setLastRow(session: number, row: number): void;
  join(before: number, after: number): void;
  scope(namespace: number, users: number, userCount: number, now: number): void;
  narrow(since: number, until: number, tier: number): void;
  narrowToCurrent(): void;
  narrowToAny(labels: number, count: number): void;
  isAllowed(row: number): number;
  clearWords(): void;
  word(alternatives: number, count: number): number;
  matchWord(word: number, share: number): void;
  matchCreated(from: number, until: number, match: number): void;
  takeBestMatches(most: number, mostOfText: number, into: number): number;
  queryVectorBytes(): number;
  nearest(query: number, count: number, most: number, mostOfText: number, into: number): number;
  exactAtHand(query: number, row: number): number;
  exactProduct(query: number, vector: number): number;
  keepExact(row: number, vector: number): void;
  select(rows: number, count: number): void;
  writeFrequencies(word: number, into: number, stride: number): void;
  cosines(query: number, step: number, into: number): void;
  describe(into: number): void;
  ordinal(row: number): number;
  createdAt(row: number): number;
  session(row: number): number;
  previous(row: number): number;
  next(row: number): number;
  tier(row: number): number;
  expiresAt(row: number): number;
  isSuperseded(row: number): number;
  isLive(row: number): number;
  expectNothing(): void;
  expectEntry(entry: number): void;
  isAsExpected(): number;
}

let compiled: object | undefined;

/** A kernel with nothing in it. It is read from the built package, whether or not the caller runs from source. */
export function newKernel(): Kernel {
  compiled ??= compile('@memoryd/engine/recall-index/kernel');
  return instantiate(compiled, { env: { abort } }) as Kernel;
}

function abort(): never {
  throw new Error('the recall index failed');
}
