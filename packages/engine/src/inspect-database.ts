import { loadPostgres, type SchemaSteps } from './postgres-package.ts';

/**
 * Looks at a database on a PostgreSQL server without changing it. Rejects with UNAVAILABLE where memoryd could not use it.
 *
 * @param databaseUrl `postgres://user:password@host:port/database`
 */
export async function inspectDatabase(databaseUrl: string): Promise<SchemaSteps> {
  const { inspectPostgres } = await loadPostgres();
  return inspectPostgres(databaseUrl);
}
