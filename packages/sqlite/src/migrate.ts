import { MemoryError } from '@memoryd/contract/errors';
import { assertMayWrite, CorruptDatabaseError, ENTRIES_MADE_BY, type MemoryText, toWords } from '@memoryd/core';
import { ANALYZER_VERSION, getModel, getTrailingVectors, withVectors } from '@memoryd/search';
import Sqlite from 'better-sqlite3';
import { type Connection, dimensionsByModel, readProperty, sql, writeProperty } from './connection.ts';
import { noteChange, rebuildEntry, writeEntry } from './recall-entry.ts';
import { APPLICATION_ID, MIGRATIONS } from './schema.ts';
import { clearSeparators } from './word-separators.ts';

/**
 * Migrates a database to the current schema in one transaction. Throws CorruptDatabaseError if the tables do not match
 * the schema version of the file.
 */
export function migrate(connection: Connection, steps: readonly string[] = MIGRATIONS): void {
  if (schemaVersion(connection) === steps.length) return;
  const applySteps = connection.transaction(() => {
    // The version is read again under the lock, because another process may have migrated since.
    for (const step of steps.slice(schemaVersion(connection))) connection.exec(step);
    connection.pragma(`application_id = ${APPLICATION_ID}`);
    connection.pragma(`user_version = ${steps.length}`);
  });
  try {
    applySteps.immediate();
  } catch (error) {
    // SQLITE_ERROR means that a step does not fit the schema, such as a table that exists already. Disk errors have
    // other codes.
    if (!(error instanceof Sqlite.SqliteError) || error.code !== 'SQLITE_ERROR') throw error;
    throw new CorruptDatabaseError(`the tables do not match the schema version of the database (${error.message})`);
  }
}

/**
 * Throws UNAVAILABLE for a file of another program or of a newer memoryd, and CorruptDatabaseError for tables without a
 * schema version. Only reads the file.
 *
 * @param name the file in messages
 */
export function assertMemorydFile(connection: Connection, name = 'the file'): void {
  connection.transaction(() => checkMemorydFile(connection, name))();
}

function checkMemorydFile(connection: Connection, name: string): void {
  const applicationId = connection.pragma('application_id', { simple: true });
  const tables = connection.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() as number;
  if (applicationId !== APPLICATION_ID && tables > 0) {
    throw new MemoryError('UNAVAILABLE', `${name} is a database of another program; choose another path`);
  }
  const version = schemaVersion(connection);
  if (version < 1 && tables > 0) throw new CorruptDatabaseError(`${name} has tables but no schema version`);
  if (version > MIGRATIONS.length) {
    throw new MemoryError(
      'UNAVAILABLE',
      `${name} has schema ${version} of a newer memoryd, but this version supports at most ${MIGRATIONS.length}; update memoryd`,
    );
  }
}

export function isCurrentSchema(connection: Connection): boolean {
  return schemaVersion(connection) === MIGRATIONS.length;
}

function schemaVersion(connection: Connection): number {
  return sql(connection, 'PRAGMA user_version').pluck().get() as number;
}

/** Format version of index entries. Increment it with each change of their content or layout. */
const ENTRY_VERSION = 5;
const FORMAT_VERSION = ENTRY_VERSION * 1000 + ANALYZER_VERSION;

/** Index entries rebuilt per query, and memories whose words are renewed before the separators of the index are cleared. */
const REBUILT_AT_ONCE = 256;

/** Throws UNAVAILABLE if a newer memoryd has changed the file. Every write transaction must call this function. */
export function assertMayWriteFile(connection: Connection): void {
  assertMayWrite(MIGRATIONS.length, schemaVersion(connection));
  assertMayWrite(FORMAT_VERSION, getStoredVersion(connection));
}

/** Returns the format version of the stored index entries; 0 if no version is stored. */
function getStoredVersion(connection: Connection): number {
  return Number(readProperty(connection, ENTRIES_MADE_BY) ?? 0);
}

/**
 * Rebuilds all index entries, and the words that lists find, in one transaction if their format is older than the current
 * format. Vectors are preserved. Throws UNAVAILABLE if the format is newer.
 */
export function renewEntries(connection: Connection): void {
  const storedVersion = getStoredVersion(connection);
  assertMayWrite(FORMAT_VERSION, storedVersion);
  if (storedVersion === FORMAT_VERSION) return;
  connection
    .transaction(() => {
      const dimensions = dimensionsByModel(connection);
      const next = sql(
        connection,
        'SELECT ordinal, entry FROM recall_entry WHERE ordinal > ? ORDER BY ordinal LIMIT ?',
      ).raw();
      for (let last = 0, batch = readBatch(0); batch.length > 0; batch = readBatch(last)) {
        for (const [ordinal, entry] of batch) replaceEntry(connection, ordinal, entry, dimensions);
        last = (batch.at(-1) as [number, Buffer])[0];
      }
      renewWords(connection);
      writeProperty(connection, ENTRIES_MADE_BY, String(FORMAT_VERSION));
      function readBatch(after: number): [ordinal: number, entry: Buffer][] {
        return next.all(after, REBUILT_AT_ONCE) as [number, Buffer][];
      }
    })
    .immediate();
}

function renewWords(connection: Connection): void {
  const next = sql(
    connection,
    'SELECT namespace, ordinal, content FROM memory WHERE ordinal > ? ORDER BY ordinal LIMIT 1',
  );
  const remove = sql(connection, 'DELETE FROM memory_words WHERE ordinal = ?');
  const insert = sql(connection, 'INSERT INTO memory_words (namespace, ordinal, words) VALUES (?, ?, ?)');
  const readNext = (after: number) => next.get(after) as MemoryText | undefined;
  let renewed = 0;
  for (let memory = readNext(0); memory; memory = readNext(memory.ordinal)) {
    const { namespace, ordinal, words } = toWords(memory);
    remove.run(ordinal);
    insert.run(namespace, ordinal, words);
    if (++renewed % REBUILT_AT_ONCE === 0) clearSeparators(connection);
  }
  clearSeparators(connection);
}

// The vectors are read from the end of the index entry, because the rest may have an older layout.
function replaceEntry(
  connection: Connection,
  ordinal: number,
  entry: Buffer,
  dimensions: ReadonlyMap<number, number>,
): void {
  const model = getModel(entry);
  const vectors = getTrailingVectors(entry, dimensions.get(model) ?? 0);
  const rebuilt = rebuildEntry(connection, ordinal, noteChange(connection, ordinal));
  writeEntry(connection, ordinal, withVectors(rebuilt, model, vectors));
}
