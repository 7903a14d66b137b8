import type { SchemaSteps } from './storage/postgres/inspect.ts';

/**
 * Looks at a database on a PostgreSQL server without changing it. Rejects with UNAVAILABLE where memoryd could not use it.
 *
 * @param databaseUrl `postgres://user:password@host:port/database`
 */
export async function inspectDatabase(databaseUrl: string): Promise<SchemaSteps> {
  // As in `openStorage`: who keeps a file should not wait for what speaks to servers to load.
  const { inspectPostgres } = await import('./storage/postgres/inspect.ts');
  return inspectPostgres(databaseUrl);
}
