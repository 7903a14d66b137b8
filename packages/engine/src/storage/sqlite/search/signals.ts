import type { Signals } from '../../../ports/storage.ts';
import type { MemoryFacts, Place } from './memory-facts.ts';
import type { QueryWord } from './query-words.ts';
import type { Scope } from './scope.ts';

/** What was found, and in what. */
export interface Found {
  memoryCount: number;
  words: readonly QueryWord[];
  scope: Scope;
  pool: readonly number[];
  /** Those of the pool whose neighbours may be better than the last of it. */
  lifting: readonly number[];
  tail: readonly number[];
}

/** Most memories that are admitted only because they correct one that was found. */
const MOST_SUCCESSORS = 256;

/** Gathers the columns of all that was found, of what corrects it, and of its neighbours. */
export function collectSignals(facts: MemoryFacts, found: Found): Signals {
  const rows = new Rows();
  for (const ordinal of found.pool) rows.add(ordinal);
  const places = new Map<number, Place>();
  const placeOf = (ordinal: number): Place => {
    let place = places.get(ordinal);
    if (!place) places.set(ordinal, (place = facts.place(ordinal)));
    return place;
  };
  addSuccessors(facts, found.scope, rows, placeOf);
  addRelevantNeighbours(facts, found, rows, placeOf);
  const pool = rows.size;
  for (const ordinal of found.tail) rows.add(ordinal);
  addSuccessors(facts, found.scope, rows, placeOf);
  const admitted = rows.size;
  const previous: number[] = [];
  const next: number[] = [];
  for (let row = 0; row < admitted; row++) {
    const ordinal = rows.ordinals[row] as number;
    previous.push(rows.addMaybe(facts.neighbour(ordinal, placeOf(ordinal), 'before')));
    next.push(rows.addMaybe(facts.neighbour(ordinal, placeOf(ordinal), 'after')));
  }
  facts.prepareWords(rows.ordinals);
  facts.prepareCosines(rows.ordinals);
  return {
    memoryCount: found.memoryCount,
    documentFrequencies: found.words.map((word) => word.frequency),
    pool,
    admitted,
    ...wordColumns(facts, rows.ordinals, found.words.length),
    ordinals: Float64Array.from(rows.ordinals),
    cosines: Float32Array.from(rows.ordinals, (ordinal) => facts.cosine(ordinal)),
    sessions: sessionColumn(rows.ordinals, admitted, placeOf),
    previous: Int32Array.from(previous),
    next: Int32Array.from(next),
    supersededBy: Int32Array.from(rows.ordinals.slice(0, admitted), (ordinal) => {
      const { supersededBy } = placeOf(ordinal);
      const successor = supersededBy === null ? undefined : facts.ordinalOf(supersededBy);
      return rows.admittedRowOf(successor, admitted);
    }),
  };
}

// What corrects a memory is admitted with it, so that a correction in other words cannot be missed.
function addSuccessors(facts: MemoryFacts, scope: Scope, rows: Rows, placeOf: (ordinal: number) => Place): void {
  for (let row = 0, added = 0; row < rows.size && added < MOST_SUCCESSORS; row++) {
    const { supersededBy } = placeOf(rows.ordinals[row] as number);
    if (supersededBy === null) continue;
    const successor = facts.ordinalOf(supersededBy);
    if (successor === undefined || rows.has(successor) || !scope.allows(successor)) continue;
    rows.add(successor);
    added++;
  }
}

// A memory gains from its neighbours, so one that stands beside a good match can be better than the last of the pool.
// It is admitted if its own words or meaning have anything to do with the query.
function addRelevantNeighbours(
  facts: MemoryFacts,
  { scope, lifting }: Found,
  rows: Rows,
  placeOf: (ordinal: number) => Place,
): void {
  const neighbours = lifting.flatMap((ordinal) => [
    facts.neighbour(ordinal, placeOf(ordinal), 'before'),
    facts.neighbour(ordinal, placeOf(ordinal), 'after'),
  ]);
  const allowed = neighbours.filter((ordinal) => ordinal !== undefined && scope.allows(ordinal)) as number[];
  facts.prepareWords(allowed);
  facts.prepareCosines(allowed);
  for (const ordinal of allowed) if (facts.isRelevant(ordinal)) rows.add(ordinal);
}

function wordColumns(
  facts: MemoryFacts,
  ordinals: readonly number[],
  terms: number,
): Pick<Signals, 'lengths' | 'termFrequencies'> {
  const termFrequencies = new Uint16Array(ordinals.length * terms);
  const lengths = Uint32Array.from(ordinals, (ordinal, row) => facts.readWords(ordinal, termFrequencies, row * terms));
  return { lengths, termFrequencies };
}

function sessionColumn(ordinals: readonly number[], admitted: number, placeOf: (ordinal: number) => Place): Int32Array {
  const numbers = new Map<string, number>();
  return Int32Array.from(ordinals.slice(0, admitted), (ordinal) => {
    const { sessionId } = placeOf(ordinal);
    if (sessionId === null) return -1;
    const number = numbers.get(sessionId) ?? numbers.size;
    numbers.set(sessionId, number);
    return number;
  });
}

/** Ordinals in the order in which they were added, each once. */
class Rows {
  readonly ordinals: number[] = [];
  readonly #rows = new Map<number, number>();

  get size(): number {
    return this.ordinals.length;
  }

  has(ordinal: number): boolean {
    return this.#rows.has(ordinal);
  }

  /** The row of an ordinal, new or old. */
  add(ordinal: number): number {
    const known = this.#rows.get(ordinal);
    if (known !== undefined) return known;
    this.#rows.set(ordinal, this.ordinals.length);
    return this.ordinals.push(ordinal) - 1;
  }

  addMaybe(ordinal: number | undefined): number {
    return ordinal === undefined ? -1 : this.add(ordinal);
  }

  /** The row of an ordinal if it is among the first `admitted`, else -1. */
  admittedRowOf(ordinal: number | undefined, admitted: number): number {
    const row = ordinal === undefined ? undefined : this.#rows.get(ordinal);
    return row === undefined || row >= admitted ? -1 : row;
  }
}
