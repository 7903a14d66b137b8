import { MemoryError } from '@memoryd/contract/errors';
import type { Telemetry } from './ports/runtime.ts';
import type { OpenDatabase } from './ports/storage.ts';
import type { Quotas } from './ports/storage-namespaces.ts';

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`. */
  url: string;
  /** Maximum number of concurrent connections; 10 if absent. */
  connections?: number;
  /** Maximum number of working memories per namespace. */
  workingMax: number;
  /** Default quotas of namespaces and users; unlimited if absent. */
  quota?: Quotas;
  /**
   * Address of a replica for recall; if absent, recall uses the database itself. A replica of another database is
   * rejected.
   */
  readUrl?: string;
  /** Receives events when the replica fails or recovers, and when the vector index cannot be built. */
  telemetry?: Telemetry;
}

/** The schema version of a database (0 if the database is empty), and the schema version of this memoryd. */
export interface SchemaSteps {
  at: number;
  last: number;
}

/** Exports of the package @memoryd/postgres. */
interface PostgresPackage {
  openPostgres(options: PostgresOptions): Promise<OpenDatabase>;
  inspectPostgres(url: string, telemetry?: Telemetry): Promise<SchemaSteps>;
}

/**
 * Typed as `string`, so that the compiler does not resolve the package, which is optional and depends on this package.
 */
const PACKAGE: string = '@memoryd/postgres';

/**
 * Loads the PostgreSQL package on demand. If the package is missing, rejects with UNAVAILABLE and the install command.
 */
export async function loadPostgres(): Promise<PostgresPackage> {
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
