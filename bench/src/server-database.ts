import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
// biome-ignore lint/style/noRestrictedImports: this creates schemas, which the engine does not do
import { Client } from 'pg';

/** Names of the schemas to drop at the end of this process, by database URL. */
const createdSchemas = new Map<string, string[]>();

/**
 * Returns the URL of the PostgreSQL schema that belongs to a folder. The first call creates the schema and writes its
 * URL into the folder. The schema is dropped on the process's event `beforeExit`, unless `keepSchemas` is called.
 */
export async function getSchemaUrl(folder: string, databaseUrl: string): Promise<string> {
  const urlFile = join(folder, 'database-url');
  if (existsSync(urlFile)) return readFileSync(urlFile, 'utf8');
  const schema = `bench_${randomBytes(8).toString('hex')}`;
  await runSql(databaseUrl, `CREATE EXTENSION IF NOT EXISTS vector; CREATE SCHEMA ${schema}`);
  if (createdSchemas.size === 0) process.on('beforeExit', dropSchemas);
  createdSchemas.set(databaseUrl, [...(createdSchemas.get(databaseUrl) ?? []), schema]);
  const url = new URL(databaseUrl);
  url.searchParams.set('options', `-c search_path=${schema},public`);
  writeFileSync(urlFile, url.href, { mode: 0o600 });
  return url.href;
}

/** Returns the size of a folder's schema in bytes, including indexes. */
export async function getSchemaBytes(folder: string): Promise<number> {
  const rows = await runSql(
    readFileSync(join(folder, 'database-url'), 'utf8'),
    `SELECT sum(pg_total_relation_size(oid))::float8 AS bytes FROM pg_class
     WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace`,
  );
  return (rows[0] as { bytes: number }).bytes;
}

/** Prevents the schemas created so far from being dropped. */
export function keepSchemas(): void {
  createdSchemas.clear();
}

async function dropSchemas(): Promise<void> {
  const schemas = [...createdSchemas];
  createdSchemas.clear();
  for (const [url, names] of schemas) {
    for (const name of names) await runSql(url, `DROP SCHEMA IF EXISTS ${name} CASCADE`);
  }
}

async function runSql(databaseUrl: string, statements: string): Promise<unknown[]> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query(statements)).rows;
  } finally {
    await client.end();
  }
}
