import { MemoryError } from '@memoryd/contract/errors';
import { splitHosts } from '@memoryd/core/database-address';
import type { DatabaseOptions } from './open-storage.ts';

/** Returns a printable name of a database: its path, or its address without user, password and parameters. */
export function getDatabaseName({ dbPath, databaseUrl }: DatabaseOptions): string {
  if (databaseUrl === undefined) return dbPath;
  const addresses = splitHosts(databaseUrl);
  return `postgres://${addresses.map(({ host }) => host).join()}${addresses[0]?.pathname}`;
}

/** Returns a copy of a MemoryError with the name of the database in its message. Returns any other value unchanged. */
export function cannotOpen(database: DatabaseOptions, cause: unknown): unknown {
  if (!(cause instanceof MemoryError)) return cause;
  return new MemoryError(cause.code, `cannot open ${getDatabaseName(database)}: ${cause.message}`, {
    cause,
    isDatabaseDown: cause.isDatabaseDown,
  });
}
