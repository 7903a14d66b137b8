import { MemoryError } from '@memoryd/contract';
import type { DatabaseOptions } from '@memoryd/engine';
import { splitHosts } from '@memoryd/engine/defaults';

/** Returns a printable name of a database: its path, or its address without user, password and parameters. */
export function getDatabaseName({ dbPath, databaseUrl }: DatabaseOptions): string {
  if (databaseUrl === undefined) return dbPath;
  const addresses = splitHosts(databaseUrl);
  return `postgres://${addresses.map(({ host }) => host).join()}${addresses[0]?.pathname}`;
}

/** Returns a copy of an error with the name of the database in its message. */
export function cannotOpen(database: DatabaseOptions, cause: MemoryError): MemoryError {
  return new MemoryError(cause.code, `cannot open ${getDatabaseName(database)}: ${cause.message}`, {
    cause,
    isDatabaseDown: cause.isDatabaseDown,
  });
}
