import { writeVerbs as shared } from '../sql/verbs.ts';
import type { Connection } from './connection.ts';
import type { FileQueries } from './file-queries.ts';
import { storeAll, storeMany } from './file-stores.ts';
import { putVectors, useModel } from './file-vectors.ts';

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
