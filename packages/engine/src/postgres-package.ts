import { MemoryError } from '@memoryd/contract/errors';
import type { Telemetry } from './ports/runtime.ts';
import type { OpenDatabase } from './ports/storage.ts';
import type { Quotas } from './ports/storage-namespaces.ts';

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`. */
  url: string;
  /** Most connections at a time; 10 where none is given. */
  connections?: number;
  /** Most working memories of a namespace. */
  workingMax: number;
  /** Quotas of the namespaces and users that have none of their own; any number where absent. */
  quota?: Quotas;
  /** A replica of the database, for recall; the database itself where absent. That of another database is refused. */
  readUrl?: string;
  /** Told when the replica fails and when it works again, and when the index of vectors cannot be made. */
  telemetry?: Telemetry;
}

/** The step of the schema that a database is at, 0 where it is empty, and the last one that this memoryd takes it to. */
export interface SchemaSteps {
  at: number;
  last: number;
}

/** What the package for databases on PostgreSQL servers does. */
interface PostgresPackage {
  openPostgres(options: PostgresOptions): Promise<OpenDatabase>;
  inspectPostgres(url: string): Promise<SchemaSteps>;
}

/** The package is optional, and it depends on this one: its name is no literal, so that no compiler looks for it here. */
const PACKAGE: string = '@memoryd/postgres';

/** Loads the package, for which an engine on a file does not wait. UNAVAILABLE, with the command that helps, where it is absent. */
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
 * Looks at a database on a PostgreSQL server without changing it. Rejects with UNAVAILABLE where memoryd could not use it.
 *
 * @param databaseUrl `postgres://user:password@host:port/database`
 */
export async function inspectDatabase(databaseUrl: string): Promise<SchemaSteps> {
  const { inspectPostgres } = await loadPostgres();
  return inspectPostgres(databaseUrl);
}
