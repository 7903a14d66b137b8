import {
  type NamespaceLimits,
  type NewMemory,
  readRooms,
  type StoreOutcome,
  writeVerbs as shared,
} from '@memoryd/core';
import { entriesIn } from '@memoryd/search';
import type { Connection } from './connection.ts';
import type { FileQueries, FileTransaction } from './dialect.ts';
import { putVectors, useModel } from './vectors.ts';

/** The arguments of a store: memories, limits, and prebuilt index entries of the first memories. See `EntryBuilder`. */
export type StoreArguments = [memories: readonly NewMemory[], limits: NamespaceLimits, entries?: Uint8Array];

/** Stores memories in order. See `Storage.storeMany`. */
async function storeMany(transaction: FileTransaction, ...store: StoreArguments): Promise<StoreOutcome[]> {
  const [outcomes] = await storeAll(transaction, [store]);
  return outcomes as StoreOutcome[];
}

/** Runs several stores with shared statements and the limits of the first store. Returns the outcomes of each store. */
async function storeAll(transaction: FileTransaction, stores: readonly StoreArguments[]): Promise<StoreOutcome[][]> {
  const [[, { workingMax, quota }]] = stores as [StoreArguments];
  const memories = stores.flatMap(([batch, , entries]) => withEntries(batch, entries));
  const rooms = await readRooms(transaction, memories, quota);
  const outcomes = await shared.storeMany(transaction, memories, { workingMax, rooms });
  let at = 0;
  return stores.map(([batch]) => outcomes.slice(at, (at += batch.length)));
}

function withEntries(memories: readonly NewMemory[], entries?: Uint8Array): readonly NewMemory[] {
  if (!entries) return memories;
  const built = entriesIn(entries);
  return memories.map((memory, i) => (built[i] ? { ...memory, entry: built[i] } : memory));
}

const ownVerbs = {
  storeMany,
  storeAll,
  useModel: onConnection(useModel),
  putVectors: onConnection(putVectors),
};
export type WriteVerbs = Omit<typeof shared, keyof typeof ownVerbs> & typeof ownVerbs;

/**
 * The functions that the write thread runs, by name. Each call runs in a transaction shared with other calls. If a call
 * throws, none of its changes is committed.
 */
export const writeVerbs: WriteVerbs = { ...shared, ...ownVerbs };

/** Converts a function of a `Connection` to a function of `FileQueries`. */
function onConnection<Args extends unknown[], Result>(verb: (connection: Connection, ...args: Args) => Result) {
  return async ({ connection }: FileQueries, ...args: Args): Promise<Result> => verb(connection, ...args);
}
