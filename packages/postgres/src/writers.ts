import { assertMayWrite, ENTRIES_MADE_BY, type Queries, raw } from '@memoryd/engine/storage-kit';
import { MADE_BY } from './recall-entry.ts';
import { MIGRATIONS } from './schema.ts';

/** The property that tells the version of the schema. */
export const SCHEMA_VERSION = 'schema_version';

/** The property that tells the oldest version of the schema that a server has to know to write. */
export const OLDEST_WRITER = 'oldest_writer';

/** What a database says of the servers that may write it. */
export interface Writers {
  name: string;
  value: string;
}

/** The statement that reads all `Writers`. */
export const WRITERS = `SELECT name, value FROM property WHERE name IN ('${OLDEST_WRITER}', '${ENTRIES_MADE_BY}')`;

const KNOWN = new Map([
  [OLDEST_WRITER, MIGRATIONS.length],
  [ENTRIES_MADE_BY, MADE_BY],
]);

/** Throws UNAVAILABLE where a newer memoryd writes the database in a way that this one does not know. */
export function assertMayWriteBeside(writers: readonly Writers[]): void {
  for (const { name, value } of writers) assertMayWrite(KNOWN.get(name) ?? 0, Number(value));
}

/** Reads `Writers`, and throws as `assertMayWriteBeside`. */
export async function assertMayWriteNow(queries: Pick<Queries, 'rows'>): Promise<void> {
  assertMayWriteBeside(await queries.rows<Writers>(raw(WRITERS)));
}
