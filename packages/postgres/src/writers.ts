import { assertMayWrite, ENTRIES_MADE_BY, type Queries, raw } from '@memoryd/core';
import { MADE_BY } from './recall-entry.ts';
import { MIGRATIONS } from './schema.ts';

/** Property with the version of the schema. */
export const SCHEMA_VERSION = 'schema_version';

/** Property with the minimum schema version that a server must know to write. */
export const OLDEST_WRITER = 'oldest_writer';

/** A requirement of the database for servers that write to it. */
export interface Writers {
  name: string;
  value: string;
}

/** Statement that reads all `Writers`. */
export const WRITERS = `SELECT name, value FROM property WHERE name IN ('${OLDEST_WRITER}', '${ENTRIES_MADE_BY}')`;

const KNOWN = new Map([
  [OLDEST_WRITER, MIGRATIONS.length],
  [ENTRIES_MADE_BY, MADE_BY],
]);

/** Throws UNAVAILABLE if a newer memoryd writes to the database in a format that this version does not support. */
export function assertMayWriteBeside(writers: readonly Writers[]): void {
  for (const { name, value } of writers) assertMayWrite(KNOWN.get(name) ?? 0, Number(value));
}

/** Reads `Writers`, and throws like `assertMayWriteBeside`. */
export async function assertMayWriteNow(queries: Pick<Queries, 'rows'>): Promise<void> {
  assertMayWriteBeside(await queries.rows<Writers>(raw(WRITERS)));
}
