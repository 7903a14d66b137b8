import { type IndexedModel, type MemoryState, RecallIndex } from '../../../recall-index/recall-index.ts';
import { type Connection, sql } from '../connection.ts';
import { modelInUse } from '../write/vectors.ts';

/** What is read of a memory's state, from `memory m`. */
const STATE = 'm.tier, m.expires_at AS expiresAt, m.superseded_by IS NOT NULL AS superseded';

type StateRow = Omit<MemoryState, 'superseded'> & { ordinal: number; superseded: number };

/**
 * Keeps an index in memory equal to the file, whichever process writes to it: it takes in what is new and what is noted
 * as changed. Where it does not know what changed, it makes the index anew.
 */
export class IndexFollower {
  #index: RecallIndex | undefined;
  #dataVersion = -1;
  #seenOrdinal = 0;
  #seenChange = 0;

  /** The index as of the connection's snapshot. To be called inside a transaction. */
  follow(connection: Connection): RecallIndex {
    const dataVersion = connection.pragma('data_version', { simple: true }) as number;
    if (this.#index && dataVersion === this.#dataVersion) return this.#index;
    const model = indexedModel(connection);
    const change = lastChange(connection);
    if (this.#index && this.#canCatchUp(this.#index, model, change.first)) {
      this.#catchUp(connection, this.#index);
    } else {
      // Before the new one is made, since two of them may be more than there is memory for.
      this.#index = undefined;
      this.#index = load(connection, model);
      this.#seenOrdinal = lastOrdinal(connection);
    }
    this.#seenChange = change.last;
    this.#dataVersion = dataVersion;
    return this.#index;
  }

  #canCatchUp(index: RecallIndex, model: IndexedModel | undefined, firstChange: number): boolean {
    return sameModel(index.model, model) && firstChange <= this.#seenChange + 1;
  }

  #catchUp(connection: Connection, index: RecallIndex): void {
    const before = this.#seenOrdinal;
    const arrived = sql(
      connection,
      `SELECT m.ordinal, e.entry, ${STATE} FROM recall_entry e CROSS JOIN memory m USING (ordinal)
       WHERE e.ordinal > ? ORDER BY e.ordinal`,
    ).iterate(before) as Iterable<StateRow & { entry: Buffer }>;
    for (const row of arrived) {
      index.takeIn(row.entry);
      setState(index, row);
      this.#seenOrdinal = row.ordinal;
    }
    const changed = sql(
      connection,
      `SELECT c.ordinal, e.entry, ${STATE} FROM (SELECT DISTINCT ordinal FROM recall_change WHERE seq > ?) c
       LEFT JOIN recall_entry e ON e.ordinal = c.ordinal LEFT JOIN memory m ON m.ordinal = c.ordinal
       WHERE c.ordinal <= ? ORDER BY c.ordinal`,
    ).iterate(this.#seenChange, before) as Iterable<StateRow & { entry: Buffer | null }>;
    for (const row of changed) {
      if (row.entry) {
        index.takeIn(row.entry);
        setState(index, row);
      } else index.takeOut(row.ordinal);
    }
    index.tidy();
  }
}

function indexedModel(connection: Connection): IndexedModel | undefined {
  const model = modelInUse(connection);
  return model?.dimensions ? { number: model.number, dimensions: model.dimensions } : undefined;
}

function sameModel(one: IndexedModel | undefined, other: IndexedModel | undefined): boolean {
  return one?.number === other?.number && one?.dimensions === other?.dimensions;
}

function lastChange(connection: Connection): { first: number; last: number } {
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

function load(connection: Connection, model: IndexedModel | undefined): RecallIndex {
  const index = new RecallIndex(model);
  const entries = sql(connection, 'SELECT entry FROM recall_entry ORDER BY ordinal').pluck().iterate();
  for (const entry of entries as Iterable<Buffer>) index.takeIn(entry);
  for (const state of unusualStates(connection)) setState(index, state);
  return index;
}

// Nearly all memories are in the episodic tier, do not expire and are not corrected, as the index takes them to be.
function unusualStates(connection: Connection): Iterable<StateRow> {
  return sql(
    connection,
    `SELECT m.ordinal, ${STATE} FROM memory m INDEXED BY memory_unusual
     WHERE m.tier <> 'episodic' OR m.expires_at IS NOT NULL OR m.superseded_by IS NOT NULL`,
  ).iterate() as Iterable<StateRow>;
}

function setState(index: RecallIndex, { ordinal, tier, expiresAt, superseded }: StateRow): void {
  index.setState(ordinal, { tier, expiresAt, superseded: superseded !== 0 });
}
