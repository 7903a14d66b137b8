import { compile, instantiate } from './webassembly.ts';

interface Value {
  readonly value: number;
}

/**
 * The exports of the compiled kernel, documented in assembly/. Addresses are offsets into `memory`. When the memory
 * grows, its buffer is replaced.
 */
export interface Kernel {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly MAX_WORDS: Value;
  readonly rowCount: Value;
  readonly removedRows: Value;
  readonly liveTerms: Value;
  readonly removedTerms: Value;
  readonly memoryCount: Value;
  readonly smallScopeCount: Value;
  readonly postponedCount: Value;
  /** 1 if the last search skipped a row because of the limit of rows per text. */
  readonly hasSkippedTexts: Value;
  /** 1 once an allocation has failed. */
  readonly isOutOfMemory: Value;
  open(
    model: number,
    dimensions: number,
    minDamping: number,
    dampingPerTerm: number,
    maxDamping: number,
    maxBytes: number,
  ): void;
  exchange(bytes: number): number;
  putEntry(entry: number): void;
  setState(
    ordinal: number,
    tier: number,
    expiresAt: number,
    beginsAt: number,
    endsAt: number,
    replacement: number,
  ): void;
  removeMemory(ordinal: number): void;
  sweepTerms(maxTerms: number): void;
  findRow(ordinal: number): number;
  postponedRow(place: number): number;
  clearPostponed(): void;
  lastRow(session: number): number;
  setLastRow(session: number, row: number): void;
  linkRows(before: number, after: number): void;
  beginScope(namespace: number, users: number, userCount: number, now: number): void;
  narrowToTimeAndTier(since: number, until: number, tier: number): void;
  narrowToStored(until: number): void;
  narrowToRows(bytes: number): void;
  narrowToHolding(at: number, isReplacementAlone: number): void;
  narrowToAny(labels: number, count: number): void;
  isAllowed(row: number): number;
  excludeRow(row: number): void;
  includeRow(row: number): void;
  countMemories(): number;
  sampleTexts(limit: number, into: number): number;
  clearWords(): void;
  addQueryWord(alternatives: number, count: number): number;
  countInScope(word: number, limit: number): number;
  matchWord(word: number, share: number): void;
  matchCreated(from: number, until: number, match: number): void;
  takeBestMatches(limit: number, maxPerText: number, into: number): number;
  queryVectorBytes(): number;
  findNearest(query: number, count: number, limit: number, maxPerText: number, into: number): number;
  cachedExactProduct(query: number, row: number): number;
  exactProduct(query: number, vector: number): number;
  cacheExact(row: number, vector: number): void;
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
  beginsAt(row: number): number;
  endsAt(row: number): number;
  replacement(row: number): number;
  isLive(row: number): number;
  resetExpected(): void;
  expectEntry(entry: number): void;
  matchesExpected(): number;
}

let compiled: object | undefined;

/** Returns an empty kernel. The kernel is loaded from the built package, even if the caller runs from source. */
export function createKernel(): Kernel {
  compiled ??= compile('@memoryd/search/kernel');
  return instantiate(compiled, { env: { abort } }) as Kernel;
}

function abort(): never {
  throw new Error('the WebAssembly kernel of the recall index aborted; restart the process');
}
