import { MemoryError } from '@memoryd/contract';
import type { DatabaseOptions } from '@memoryd/engine';
import { eachHost } from '@memoryd/engine/defaults';

/** What a database is called where others may read it: without the user, the password and whatever else is secret. */
export function databaseName({ dbPath, databaseUrl }: DatabaseOptions): string {
  if (databaseUrl === undefined) return dbPath;
  const addresses = eachHost(databaseUrl);
  return `postgres://${addresses.map(({ host }) => host).join()}${addresses[0]?.pathname}`;
}

/** The same error, saying which database cannot be opened. */
export function cannotOpen(database: DatabaseOptions, cause: MemoryError): MemoryError {
  return new MemoryError(cause.code, `cannot open ${databaseName(database)}: ${cause.message}`, {
    cause,
    isAway: cause.isAway,
  });
}
