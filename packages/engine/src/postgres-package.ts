import { MemoryError } from '@memoryd/contract/errors';
import type { Telemetry } from '@memoryd/core';
import type { SchemaSteps, ServerPackage } from '@memoryd/core/ports';

/** Typed as `string`, so that the compiler does not resolve the package, which is optional. */
const PACKAGE: string = '@memoryd/postgres';

/**
 * Loads the PostgreSQL package on demand. If the package is missing, rejects with UNAVAILABLE and the install command.
 */
export async function loadPostgres(): Promise<ServerPackage> {
  try {
    return await import(PACKAGE);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new MemoryError(
      'UNAVAILABLE',
      `a database on a PostgreSQL server needs a package that is not installed: npm install ${PACKAGE}`,
      { cause },
    );
  }
}

/**
 * Reads the schema version of a PostgreSQL database without changing the database. Rejects with UNAVAILABLE if memoryd
 * could not use the database; the telemetry receives the reason of each host if the URL has several.
 */
export async function inspectDatabase(databaseUrl: string, telemetry?: Telemetry): Promise<SchemaSteps> {
  const { inspectPostgres } = await loadPostgres();
  return inspectPostgres(databaseUrl, telemetry);
}
