import { NoRoom } from '../../../recall-index/exchange.ts';
import { type IndexedModel, type MemoryState, RecallIndex } from '../../../recall-index/recall-index.ts';
import { DamagedDatabase } from '../../damage.ts';
import { WORKING } from '../../sql/filters.ts';
import { type Connection, modelInUse, sql } from '../connection.ts';
import { whole, wholeEntries } from '../recall-entry.ts';

/** What is read of a memory's state, from `memory m`. */
const STATE = 'm.tier, m.expires_at AS expiresAt, m.superseded_by IS NOT NULL AS superseded';

type StateRow = Omit<MemoryState, 'superseded'> & { ordinal: number; superseded: number };

/**
 * What part of the memories of an index must have gone or changed before it is made anew for want of room: a load of
 * millions that ends without room is not to be repeated at every search.
 */
const WORTH_A_LOAD = 1 / 16;

interface ChangeRange {
  first: number;
  last: number;
}

/**
 * Keeps an index in memory equal to the file, whichever process writes to it: it takes in what is new and what is noted
 * as changed. Where it does not know what changed, or the index is worn, it makes the index anew. An entry that the disk
 * has changed is never taken in: DamagedDatabase is thrown until the file has been written to.
 *
 * Where there is no room for an entry, NoRoom is thrown until enough has gone or changed for an index made anew to be
 * worth a try.
 */
export class IndexFollower {
  readonly #maxBytes: number | undefined;
  #index: RecallIndex | undefined;
  /** The change at which an index was made last, or tried to be. */
  #madeAt = 0;
  #full: { error: NoRoom; untilChange: number } | undefined;
  #damage: { error: DamagedDatabase; dataVersion: number } | undefined;
  #dataVersion = -1;
  #seenOrdinal = 0;
  #seenChange = 0;

  /** @param maxBytes see `RecallIndex` */
  constructor(maxBytes?: number) {
    this.#maxBytes = maxBytes;
  }

  /** The index as of the connection's snapshot. To be called inside a transaction. */
  follow(connection: Connection): RecallIndex {
    this.followSome(connection, Number.MAX_SAFE_INTEGER);
    return this.#index as RecallIndex;
  }

  /**
   * Brings the index nearer to the connection's snapshot by at most so many memories, or all the way where it has to be
   * made. To be called inside a transaction. Answers whether it is there.
   */
  followSome(connection: Connection, most: number): boolean {
    try {
      return this.#follow(connection, most);
    } catch (error) {
      if (error instanceof DamagedDatabase) this.#damage = { error, dataVersion: getDataVersion(connection) };
      throw error;
    }
  }

  #follow(connection: Connection, most: number): boolean {
    const dataVersion = getDataVersion(connection);
    if (this.#index && dataVersion === this.#dataVersion) return true;
    if (this.#damage?.dataVersion === dataVersion) throw this.#damage.error;
    const model = indexedModel(connection);
    const change = changeRange(connection);
    if (this.#full && change.last < this.#full.untilChange) throw this.#full.error;
    const isThere = this.#caughtUp(connection, most, model, change);
    if (isThere === undefined) this.#load(connection, model, change.last);
    else if (!isThere) return false;
    this.#dataVersion = dataVersion;
    return true;
  }

  /** Whether the index has caught up with the file; undefined where it is to be made anew. */
  #caughtUp(
    connection: Connection,
    most: number,
    model: IndexedModel | undefined,
    change: ChangeRange,
  ): boolean | undefined {
    const index = this.#index;
    if (!index || !this.#canCatchUp(index, model, change.first)) return undefined;
    try {
      return this.#catchUp(connection, index, most);
    } catch (error) {
      if (!(error instanceof NoRoom)) throw error;
      if (index.goneShare >= WORTH_A_LOAD || change.last >= this.#nextLoad(index)) return undefined;
      throw this.#giveUp(error, index);
    }
  }

  #canCatchUp(index: RecallIndex, model: IndexedModel | undefined, firstChange: number): boolean {
    return sameModel(index.model, model) && firstChange <= this.#seenChange + 1 && !index.isWorn;
  }

  #load(connection: Connection, model: IndexedModel | undefined, lastChange: number): void {
    // Before the new one is made, since two of them may be more than there is memory for.
    this.#index = undefined;
    this.#full = undefined;
    this.#madeAt = lastChange;
    const index = new RecallIndex(model, this.#maxBytes);
    try {
      fill(index, connection);
    } catch (error) {
      throw error instanceof NoRoom ? this.#giveUp(error, index) : error;
    }
    this.#index = index;
    this.#seenOrdinal = lastOrdinal(connection);
    this.#seenChange = lastChange;
  }

  /** Lets an index without room go, and answers what is thrown until it is worth it to make another. */
  #giveUp(error: NoRoom, index: RecallIndex): NoRoom {
    this.#index = undefined;
    this.#full = { error, untilChange: this.#nextLoad(index) };
    return error;
  }

  // Nothing leaves recall without a change that is noted.
  #nextLoad(index: RecallIndex): number {
    return this.#madeAt + Math.ceil(Math.max(1, index.size) * WORTH_A_LOAD);
  }

  // What arrived goes before what changed, which is the state of later.
  #catchUp(connection: Connection, index: RecallIndex, most: number): boolean {
    const arrived = sql(
      connection,
      `SELECT m.ordinal, e.entry, ${STATE} FROM recall_entry e CROSS JOIN memory m USING (ordinal)
       WHERE e.ordinal > ? ORDER BY e.ordinal LIMIT ?`,
    ).iterate(this.#seenOrdinal, most) as Iterable<StateRow & { entry: Buffer }>;
    let taken = 0;
    for (const row of arrived) {
      takeIn(index, row.ordinal, row.entry);
      setState(index, row);
      this.#seenOrdinal = row.ordinal;
      taken++;
    }
    const changed = sql(
      connection,
      `SELECT c.seq, c.ordinal, e.entry, ${STATE} FROM recall_change c
       LEFT JOIN recall_entry e ON e.ordinal = c.ordinal LEFT JOIN memory m ON m.ordinal = c.ordinal
       WHERE c.seq > ? ORDER BY c.seq LIMIT ?`,
    ).iterate(this.#seenChange, most - taken) as Iterable<StateRow & { seq: number; entry: Buffer | null }>;
    for (const row of changed) {
      if (row.entry) {
        takeIn(index, row.ordinal, row.entry);
        setState(index, row);
      } else index.takeOut(row.ordinal);
      this.#seenChange = row.seq;
      taken++;
    }
    index.tidy();
    return taken < most;
  }
}

function getDataVersion(connection: Connection): number {
  return sql(connection, 'PRAGMA data_version').pluck().get() as number;
}

function takeIn(index: RecallIndex, ordinal: number, entry: Buffer): void {
  index.takeIn(whole(ordinal, entry));
}

function indexedModel(connection: Connection): IndexedModel | undefined {
  const model = modelInUse(connection);
  return model?.dimensions ? { ...model, dimensions: model.dimensions } : undefined;
}

function sameModel(one: IndexedModel | undefined, other: IndexedModel | undefined): boolean {
  return one?.number === other?.number && one?.dimensions === other?.dimensions;
}

function changeRange(connection: Connection): ChangeRange {
  // Apart, since SQLite takes only one of the two from the end of the table and scans it for both.
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
  for (const entry of wholeEntries(connection)) index.takeIn(entry);
  for (const state of unusualStates(connection)) setState(index, state);
}

// Nearly all memories are in the episodic tier, do not expire and are not corrected, as the index takes them to be.
function* unusualStates(connection: Connection): Iterable<StateRow> {
  const select = `SELECT m.ordinal, ${STATE} FROM memory m INDEXED BY`;
  yield* sql(connection, `${select} memory_working WHERE ${WORKING}`).iterate() as Iterable<StateRow>;
  yield* sql(
    connection,
    `${select} memory_unusual
     WHERE m.tier = 'semantic' OR m.expires_at IS NOT NULL OR m.superseded_by IS NOT NULL`,
  ).iterate() as Iterable<StateRow>;
}

function setState(index: RecallIndex, row: StateRow): void {
  index.setState(row.ordinal, toState(row));
}

function toState({ tier, expiresAt, superseded }: StateRow): MemoryState {
  return { tier, expiresAt, superseded: superseded !== 0 };
}

/** Where an index that has followed the file does not hold what is in it. */
export function indexProblems(connection: Connection, index: RecallIndex): string[] {
  const problems = index.holds(wholeEntries(connection))
    ? []
    : ['the index in memory does not hold the entries of the file'];
  const states = sql(
    connection,
    `SELECT m.ordinal, ${STATE} FROM recall_entry e CROSS JOIN memory m USING (ordinal)`,
  ).iterate() as Iterable<StateRow>;
  for (const state of states) {
    if (!index.hasState(state.ordinal, toState(state))) {
      return [...problems, `the index in memory has another state of memory ${state.ordinal}`];
    }
  }
  return problems;
}
