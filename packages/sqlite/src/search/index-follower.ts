import { CorruptDatabaseError, IN_TIER, type ValidityTimes, validityTimes } from '@memoryd/core';
import { type IndexedModel, IndexFullError, type MemoryState, RecallIndex, type StatesCache } from '@memoryd/search';
import { type Connection, modelInUse, sql } from '../connection.ts';
import { SQLITE } from '../dialect.ts';
import { readEntries, verifyEntry } from '../recall-entry.ts';

/** The columns of a memory's state, selected from `memory m`. */
const STATE = `m.tier, m.expires_at AS expiresAt, ${validityTimes(SQLITE).text}`;

type StateRow = Pick<MemoryState, 'tier' | 'expiresAt'> & ValidityTimes & { ordinal: number };

/**
 * Fraction of the memories that must be removed or changed before a full index is rebuilt. Without this minimum, every
 * search would repeat a load of millions of entries that fails for lack of space.
 */
const MIN_CHANGED_SHARE = 1 / 16;

/** The token states of a memory, and the number of the model that computed them. */
interface StoredStates {
  ordinal: number;
  model: number;
  states: Buffer;
}

/** A logged change, with the entry of the memory if it is in recall, and its token states if they are stored. */
type ChangedRow = StateRow & { seq: number; entry: Buffer | null } & ({ states: null; model: null } | StoredStates);

interface ChangeRange {
  first: number;
  last: number;
}

/**
 * Updates an in-memory index to the state of the file, which other processes may write to. Applies new memories and
 * logged changes. Rebuilds the index if the log no longer contains all changes since the last update, or if the index
 * is fragmented.
 *
 * Throws CorruptDatabaseError for a corrupted entry, until the file is written again. Throws IndexFullError if the
 * index is full, until enough memories are removed or changed for a rebuild to be worthwhile.
 */
export class IndexFollower {
  readonly #maxBytes: number | undefined;
  readonly #states: StatesCache | undefined;
  #index: RecallIndex | undefined;
  /** Change number at the most recent index build, successful or not. */
  #builtAt = 0;
  #full: { error: IndexFullError; untilChange: number } | undefined;
  #corruption: { error: CorruptDatabaseError; dataVersion: number } | undefined;
  #dataVersion = -1;
  #seenOrdinal = 0;
  #seenChange = 0;
  /** `loadStates` has processed the memories from this ordinal on. */
  #statesLoadedFrom = Number.MAX_SAFE_INTEGER;

  /** See the constructor of `RecallIndex`. */
  constructor(maxBytes?: number, states?: StatesCache) {
    this.#maxBytes = maxBytes;
    this.#states = states;
  }

  /** Returns the index, updated to the snapshot of the connection. Must be called in a transaction. */
  follow(connection: Connection): RecallIndex {
    this.followSome(connection, Number.MAX_SAFE_INTEGER);
    return this.#index as RecallIndex;
  }

  /**
   * Applies at most `maxChanges` changes to the index, or rebuilds the index if necessary. Must be called in a
   * transaction. Returns true if the index equals the snapshot of the connection.
   */
  followSome(connection: Connection, maxChanges: number): boolean {
    try {
      return this.#follow(connection, maxChanges);
    } catch (error) {
      if (error instanceof CorruptDatabaseError) this.#corruption = { error, dataVersion: getDataVersion(connection) };
      throw error;
    }
  }

  /**
   * Loads token states into the cache of the index, newest memories first: at most `maxBytes`, or those of one memory.
   * Returns true if all states are cached or the cache is full. Must be called in a transaction, with the index updated
   * to its snapshot. Without this preload, the first queries after a start would take longer.
   */
  loadStates(connection: Connection, maxBytes: number): boolean {
    const index = this.#index;
    if (index?.model === undefined) return true;
    const stored = sql(
      connection,
      'SELECT ordinal, model, states FROM token_states WHERE ordinal < ? ORDER BY ordinal DESC',
    ).iterate(this.#statesLoadedFrom) as Iterable<StoredStates>;
    let bytes = 0;
    for (const { ordinal, model, states } of stored) {
      if (bytes > 0 && bytes + states.length > maxBytes) return false;
      bytes += states.length;
      const isFull = model === index.model.number && !index.cacheStates(ordinal, states);
      this.#statesLoadedFrom = isFull ? 0 : ordinal;
      if (isFull) return true;
    }
    return true;
  }

  #follow(connection: Connection, maxChanges: number): boolean {
    const dataVersion = getDataVersion(connection);
    if (this.#index && dataVersion === this.#dataVersion) return true;
    if (this.#corruption?.dataVersion === dataVersion) throw this.#corruption.error;
    const model = indexedModel(connection);
    const change = changeRange(connection);
    if (this.#full && change.last < this.#full.untilChange) throw this.#full.error;
    const isUpToDate = this.#tryCatchUp(connection, maxChanges, model, change);
    if (isUpToDate === undefined) this.#load(connection, model, change.last);
    else if (!isUpToDate) return false;
    this.#dataVersion = dataVersion;
    return true;
  }

  /**
   * Applies at most `maxChanges` changes. Returns true if the index is up to date, false if changes remain, or
   * undefined if the index must be rebuilt.
   */
  #tryCatchUp(
    connection: Connection,
    maxChanges: number,
    model: IndexedModel | undefined,
    change: ChangeRange,
  ): boolean | undefined {
    const index = this.#index;
    if (!index || !this.#canCatchUp(index, model, change.first)) return undefined;
    try {
      return this.#catchUp(connection, index, maxChanges);
    } catch (error) {
      if (!(error instanceof IndexFullError)) throw error;
      if (index.removedShare >= MIN_CHANGED_SHARE || change.last >= this.#nextLoad(index)) return undefined;
      throw this.#giveUp(error, index);
    }
  }

  #canCatchUp(index: RecallIndex, model: IndexedModel | undefined, firstChange: number): boolean {
    return sameModel(index.model, model) && firstChange <= this.#seenChange + 1 && !index.needsRebuild;
  }

  #load(connection: Connection, model: IndexedModel | undefined, lastChange: number): void {
    // The old index is freed first, because two indexes may exceed the available memory.
    this.#index = undefined;
    this.#full = undefined;
    this.#builtAt = lastChange;
    const index = new RecallIndex(model, this.#maxBytes, this.#states);
    try {
      fill(index, connection);
    } catch (error) {
      throw error instanceof IndexFullError ? this.#giveUp(error, index) : error;
    }
    this.#index = index;
    this.#seenOrdinal = lastOrdinal(connection);
    this.#seenChange = lastChange;
    this.#statesLoadedFrom = Number.MAX_SAFE_INTEGER;
  }

  /** Drops a full index, and returns the error to throw until a rebuild is worthwhile. */
  #giveUp(error: IndexFullError, index: RecallIndex): IndexFullError {
    this.#index = undefined;
    this.#full = { error, untilChange: this.#nextLoad(index) };
    return error;
  }

  // Returns the change number from which a rebuild is worthwhile. Every removed entry has a logged change.
  #nextLoad(index: RecallIndex): number {
    return this.#builtAt + Math.ceil(Math.max(1, index.size) * MIN_CHANGED_SHARE);
  }

  // New memories are applied first, because logged changes may refer to them.
  #catchUp(connection: Connection, index: RecallIndex, maxChanges: number): boolean {
    const added = sql(
      connection,
      `SELECT m.ordinal, e.entry, ${STATE} FROM recall_entry e CROSS JOIN memory m USING (ordinal)
       WHERE e.ordinal > ? ORDER BY e.ordinal LIMIT ?`,
    ).iterate(this.#seenOrdinal, maxChanges) as Iterable<StateRow & { entry: Buffer }>;
    let applied = 0;
    for (const row of added) {
      putEntry(index, row.ordinal, row.entry);
      setState(index, row);
      this.#seenOrdinal = row.ordinal;
      applied++;
    }
    const changed = sql(
      connection,
      `SELECT c.seq, c.ordinal, e.entry, s.model, s.states, ${STATE} FROM recall_change c
       LEFT JOIN recall_entry e ON e.ordinal = c.ordinal LEFT JOIN memory m ON m.ordinal = c.ordinal
       LEFT JOIN token_states s ON s.ordinal = c.ordinal
       WHERE c.seq > ? ORDER BY c.seq LIMIT ?`,
    ).iterate(this.#seenChange, maxChanges - applied) as Iterable<ChangedRow>;
    for (const row of changed) {
      if (row.entry) {
        putEntry(index, row.ordinal, row.entry);
        setState(index, row);
        if (row.states && row.model === index.model?.number) index.cacheStates(row.ordinal, row.states);
      } else index.removeMemory(row.ordinal);
      this.#seenChange = row.seq;
      applied++;
    }
    index.sweepTerms();
    return applied < maxChanges;
  }
}

function getDataVersion(connection: Connection): number {
  return sql(connection, 'PRAGMA data_version').pluck().get() as number;
}

function putEntry(index: RecallIndex, ordinal: number, entry: Buffer): void {
  index.putEntry(verifyEntry(ordinal, entry));
}

function indexedModel(connection: Connection): IndexedModel | undefined {
  const model = modelInUse(connection);
  return model?.dimensions ? { ...model, dimensions: model.dimensions } : undefined;
}

function sameModel(one: IndexedModel | undefined, other: IndexedModel | undefined): boolean {
  return one?.number === other?.number && one?.dimensions === other?.dimensions;
}

function changeRange(connection: Connection): ChangeRange {
  // Two subqueries, because SQLite would scan the table for a query that selects both min and max.
  const { first, last } = sql(
    connection,
    'SELECT (SELECT min(seq) FROM recall_change) AS first, (SELECT max(seq) FROM recall_change) AS last',
  ).get() as { first: number | null; last: number | null };
  return { first: first ?? 0, last: last ?? 0 };
}

function lastOrdinal(connection: Connection): number {
  return (sql(connection, 'SELECT max(ordinal) FROM recall_entry').pluck().get() as number | null) ?? 0;
}

function fill(index: RecallIndex, connection: Connection): void {
  for (const entry of readEntries(connection)) index.putEntry(entry);
  for (const state of unusualStates(connection)) setState(index, state);
}

// Yields the memories whose state differs from the default of the index: episodic, without expiry, validity or successor.
function* unusualStates(connection: Connection): Iterable<StateRow> {
  const select = `SELECT m.ordinal, ${STATE} FROM memory m INDEXED BY`;
  yield* sql(
    connection,
    `${select} memory_working WHERE m.tier = 'working' AND ${IN_TIER}`,
  ).iterate() as Iterable<StateRow>;
  yield* sql(
    connection,
    `${select} memory_unusual
     WHERE m.tier = 'semantic' OR m.expires_at IS NOT NULL OR m.valid_from IS NOT NULL OR m.valid_to IS NOT NULL`,
  ).iterate() as Iterable<StateRow>;
  yield* sql(
    connection,
    `SELECT m.ordinal, ${STATE} FROM (SELECT DISTINCT ordinal FROM succession) AS replaced CROSS JOIN memory m USING (ordinal)`,
  ).iterate() as Iterable<StateRow>;
}

function setState(index: RecallIndex, row: StateRow): void {
  index.setState(row.ordinal, toState(row));
}

function toState({ tier, expiresAt, beginsAt, validTo, replacedAt, isReplacedForATime }: StateRow): MemoryState {
  const state = { tier, expiresAt, beginsAt };
  if (isReplacedForATime) return { ...state, endsAt: null, replacement: 'varying' };
  if (replacedAt === null) return { ...state, endsAt: validTo, replacement: 'none' };
  // One time cannot tell apart that a memory ended and that another replaced it later.
  const isEarlierEnd = validTo !== null && validTo < replacedAt;
  return { ...state, endsAt: isEarlierEnd ? null : replacedAt, replacement: isEarlierEnd ? 'varying' : 'lasting' };
}

/** Returns the differences between an up-to-date index and the file. */
export function indexProblems(connection: Connection, index: RecallIndex): string[] {
  const problems = index.holds(readEntries(connection))
    ? []
    : ['the in-memory index differs from the entries of the file'];
  const states = sql(
    connection,
    `SELECT m.ordinal, ${STATE} FROM recall_entry e CROSS JOIN memory m USING (ordinal)`,
  ).iterate() as Iterable<StateRow>;
  for (const state of states) {
    if (!index.hasState(state.ordinal, toState(state))) {
      return [...problems, `the in-memory index has a wrong state of memory ${state.ordinal}`];
    }
  }
  return problems;
}
