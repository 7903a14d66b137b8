import { MemoryError } from '@memoryd/contract/errors';
import type { Connection } from './connection.ts';
import { APPLICATION_ID, MIGRATIONS } from './schema.ts';

/** Takes a database to the present schema in one transaction. */
export function migrate(connection: Connection): void {
  if (isOfPresentSchema(connection)) return;
  const steps = connection.transaction(() => {
    // Read again under the lock: another process may have migrated meanwhile.
    for (const step of MIGRATIONS.slice(schemaVersion(connection))) connection.exec(step);
    connection.pragma(`application_id = ${APPLICATION_ID}`);
    connection.pragma(`user_version = ${MIGRATIONS.length}`);
  });
  steps.immediate();
}

/** Throws UNAVAILABLE for a file of another program or of a newer memoryd, having written nothing to it. */
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
