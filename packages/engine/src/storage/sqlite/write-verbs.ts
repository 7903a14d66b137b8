import type { NewMemory, StoreOutcome } from '../../ports/storage-memories.ts';
import { entriesIn } from '../../recall-index/entry.ts';
import { storeMany as storeInRooms } from '../sql/keep-memories.ts';
import { type NamespaceLimits, readRooms } from '../sql/quotas.ts';
import { writeVerbs as shared } from '../sql/verbs.ts';
import type { Connection } from './connection.ts';
import type { FileQueries, FileTransaction } from './file-queries.ts';
import { putVectors, useModel } from './file-vectors.ts';

/**
 * How memories are stored: the memories, the limits, and the entries of the first of them, made already but for their
 * ordinals; see `EntryMaker`.
 */
export type StoreArguments = [memories: readonly NewMemory[], limits: NamespaceLimits, entries?: Uint8Array];

/** Stores memories in their order. See `Storage.storeMany`. */
async function storeMany(transaction: FileTransaction, ...store: StoreArguments): Promise<StoreOutcome[]> {
  const [outcomes] = await storeAll(transaction, [store]);
  return outcomes as StoreOutcome[];
}

/** Does several stores with the statements of one. Returns the outcomes of each. */
async function storeAll(transaction: FileTransaction, stores: readonly StoreArguments[]): Promise<StoreOutcome[][]> {
  const [[, { workingMax, quota }]] = stores as [StoreArguments];
  const memories = stores.flatMap(([some, , entries]) => withEntries(some, entries));
  const rooms = await readRooms(transaction, memories, quota);
  const outcomes = await storeInRooms(transaction, memories, { workingMax, rooms });
  let at = 0;
  return stores.map(([some]) => outcomes.slice(at, (at += some.length)));
}

function withEntries(memories: readonly NewMemory[], entries?: Uint8Array): readonly NewMemory[] {
  if (!entries) return memories;
  const made = entriesIn(entries);
  return memories.map((memory, i) => (made[i] ? { ...memory, entry: made[i] } : memory));
}

/**
 * All that the write thread does, by name. Each runs inside a transaction that it shares with others, and does all of its
 * work or, when it throws, none.
 */
export const writeVerbs = {
  ...shared,
  storeMany,
  storeAll,
  useModel: onConnection(useModel),
  putVectors: onConnection(putVectors),
};
export type WriteVerbs = typeof writeVerbs;

/** Returns a verb that works on the connection itself. */
function onConnection<Args extends unknown[], Result>(verb: (connection: Connection, ...args: Args) => Result) {
  return async ({ connection }: FileQueries, ...args: Args): Promise<Result> => verb(connection, ...args);
}
