import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
// biome-ignore lint/style/noRestrictedImports: schemas are made here, of which the engine knows nothing
import { Client } from 'pg';

/** Schemas that this process has made, by the address of their database. */
const made = new Map<string, string[]>();

/**
 * The address of what a folder stands for on a PostgreSQL server: a schema of its own, which is made the first time and
 * noted in the folder. It is dropped at the end of the process, unless the folder is kept.
 */
export async function getSchema(folder: string, databaseUrl: string): Promise<string> {
  const note = join(folder, 'database-url');
  if (existsSync(note)) return readFileSync(note, 'utf8');
  const schema = `bench_${randomBytes(8).toString('hex')}`;
  await script(databaseUrl, `CREATE EXTENSION IF NOT EXISTS vector; CREATE SCHEMA ${schema}`);
  if (made.size === 0) process.on('beforeExit', dropAll);
  made.set(databaseUrl, [...(made.get(databaseUrl) ?? []), schema]);
  const url = new URL(databaseUrl);
  url.searchParams.set('options', `-c search_path=${schema},public`);
  writeFileSync(note, url.href, { mode: 0o600 });
  return url.href;
}

/** What a folder's schema takes on the server, indexes included. */
export async function schemaBytes(folder: string): Promise<number> {
  const rows = await script(
    readFileSync(join(folder, 'database-url'), 'utf8'),
    `SELECT sum(pg_total_relation_size(oid))::float8 AS bytes FROM pg_class
     WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace`,
  );
  return (rows[0] as { bytes: number }).bytes;
}

/** Leaves what has been made so far. */
export function keepSchemas(): void {
  made.clear();
}

async function dropAll(): Promise<void> {
  const schemas = [...made];
  made.clear();
  for (const [url, names] of schemas) {
    for (const name of names) await script(url, `DROP SCHEMA IF EXISTS ${name} CASCADE`);
  }
}

async function script(databaseUrl: string, statements: string): Promise<unknown[]> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query(statements)).rows;
  } finally {
    await client.end();
  }
}
