import { MemoryError } from '@memoryd/contract/errors';
import Sqlite from 'better-sqlite3';
import { ANALYZER_VERSION } from '../../core/text/analyze.ts';
import { getModel, lastVectors, withVectors } from '../../recall-index/entry.ts';
import { DamagedDatabase } from '../damage.ts';
import { assertMayWrite, ENTRIES_MADE_BY } from '../newer-writer.ts';
import { type Connection, dimensionsByModel, readProperty, sql, writeProperty } from './connection.ts';
import { freshEntry, noteChange, writeEntry } from './recall-entry.ts';
import { APPLICATION_ID, MIGRATIONS } from './schema.ts';

/**
 * Takes a database to the present schema, or that of other steps, in one transaction. Throws DamagedDatabase where its schema
 * is not the one that it names.
 */
export function migrate(connection: Connection, steps: readonly string[] = MIGRATIONS): void {
  if (schemaVersion(connection) === steps.length) return;
  const taken = connection.transaction(() => {
    // Read again under the lock: another process may have migrated meanwhile.
    for (const step of steps.slice(schemaVersion(connection))) connection.exec(step);
    connection.pragma(`application_id = ${APPLICATION_ID}`);
    connection.pragma(`user_version = ${steps.length}`);
  });
  try {
    taken.immediate();
  } catch (error) {
    // Such as a table that is there already, or is not: what is wrong with a disk has a code of its own.
    if (!(error instanceof Sqlite.SqliteError) || error.code !== 'SQLITE_ERROR') throw error;
    throw new DamagedDatabase(`its schema is not the one that it names (${error.message})`);
  }
}

/** Throws UNAVAILABLE for a file of another program or of a newer memoryd, having read its schema and written nothing. */
export function assertOurs(connection: Connection): void {
  connection.transaction(() => assertOursNow(connection))();
}

function assertOursNow(connection: Connection): void {
  const applicationId = connection.pragma('application_id', { simple: true });
  const tables = connection.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() as number;
  if (applicationId !== APPLICATION_ID && tables > 0) {
    throw new MemoryError('UNAVAILABLE', 'the file is a database of another program');
  }
  const version = schemaVersion(connection);
  if (version < 1 && tables > 0) throw new DamagedDatabase('it has tables and no schema version');
  if (version > MIGRATIONS.length) {
    throw new MemoryError(
      'UNAVAILABLE',
      `the file has schema ${version}, made by a newer memoryd; this one knows up to ${MIGRATIONS.length}`,
    );
  }
}

export function isOfPresentSchema(connection: Connection): boolean {
  return schemaVersion(connection) === MIGRATIONS.length;
}

function schemaVersion(connection: Connection): number {
  return sql(connection, 'PRAGMA user_version').pluck().get() as number;
}

/** Raised when entries come to hold something else for the same text, or hold it elsewhere. */
const ENTRY_VERSION = 5;
const MADE_BY = ENTRY_VERSION * 1000 + ANALYZER_VERSION;

/** Memories whose entries are made anew between two looks at what is next. */
const MADE_AT_ONCE = 256;

/** Throws UNAVAILABLE where a newer memoryd has changed the file. To be called in each transaction that writes. */
export function assertMayWriteFile(connection: Connection): void {
  assertMayWrite(MIGRATIONS.length, schemaVersion(connection));
  assertMayWrite(MADE_BY, entriesMadeBy(connection));
}

/** Returns by which rules the entries are made; 0 if none has been made. */
function entriesMadeBy(connection: Connection): number {
  return Number(readProperty(connection, ENTRIES_MADE_BY) ?? 0);
}

/**
 * Makes all entries again, in one transaction, if earlier rules made them; their vectors stay. Throws UNAVAILABLE if later
 * rules made them.
 */
export function renewEntries(connection: Connection): void {
  const madeBy = entriesMadeBy(connection);
  assertMayWrite(MADE_BY, madeBy);
  if (madeBy === MADE_BY) return;
  connection
    .transaction(() => {
      const dimensions = dimensionsByModel(connection);
      const next = sql(
        connection,
        'SELECT ordinal, entry FROM recall_entry WHERE ordinal > ? ORDER BY ordinal LIMIT ?',
      ).raw();
      for (let last = 0, some = nextSome(0); some.length > 0; some = nextSome(last)) {
        for (const [ordinal, entry] of some) renewEntry(connection, ordinal, entry, dimensions);
        last = (some.at(-1) as [number, Buffer])[0];
      }
      writeProperty(connection, ENTRIES_MADE_BY, String(MADE_BY));
      function nextSome(after: number): [ordinal: number, entry: Buffer][] {
        return next.all(after, MADE_AT_ONCE) as [number, Buffer][];
      }
    })
    .immediate();
}

// The entry may be of another layout than present ones.
function renewEntry(
  connection: Connection,
  ordinal: number,
  entry: Buffer,
  dimensions: ReadonlyMap<number, number>,
): void {
  const model = getModel(entry);
  const vectors = lastVectors(entry, dimensions.get(model) ?? 0);
  const renewed = freshEntry(connection, ordinal, noteChange(connection, ordinal));
  writeEntry(connection, ordinal, withVectors(renewed, model, vectors));
}
