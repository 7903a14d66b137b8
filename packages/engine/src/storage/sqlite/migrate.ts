import { MemoryError } from '@memoryd/contract/errors';
import Sqlite from 'better-sqlite3';
import { DamagedDatabase } from '../damage.ts';
import type { Connection } from './connection.ts';
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
  return connection.pragma('user_version', { simple: true }) as number;
}
