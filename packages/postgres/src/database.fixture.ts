import { randomUUID } from 'node:crypto';
import { Client, Pool } from 'pg';

/** Maximum connections of a test to a database. */
export const TEST_CONNECTIONS = 4;

/** A database server for tests. */
export interface DatabaseServer {
  /** Creates an empty database (a schema), and returns its URL. */
  create(): Promise<string>;
  /** Returns true if the database has no tables. */
  isEmpty(url: string): Promise<boolean>;
  /** Returns true if any row of any table contains the text. */
  holds(url: string, text: string): Promise<boolean>;
  /** Deletes the database. All connections to it must be closed. */
  drop(url: string): Promise<void>;
  close(): Promise<void>;
}

/** Returns the server URL in an environment variable. */
export function getServerAddress(variable: 'TEST_DATABASE_URL' | 'TEST_DATABASE_READ_URL'): string {
  const address = process.env[variable];
  if (!address) throw new Error(`${variable} is not set: start a server with scripts/postgres-for-tests`);
  return address;
}

/**
 * Connects to the PostgreSQL server for tests. Each database of a test is a schema on it, because a database takes
 * seconds to create.
 */
export async function usePostgres(): Promise<DatabaseServer> {
  const address = getServerAddress('TEST_DATABASE_URL');
  // Concurrent tests share one connection.
  const pool = new Pool({ connectionString: address, max: 1 });
  // Serialized by a lock, because concurrent CREATE EXTENSION IF NOT EXISTS statements fail.
  await pool.query('SELECT pg_advisory_xact_lock(1); CREATE EXTENSION IF NOT EXISTS vector');
  return {
    async create() {
      const schema = `test_${randomUUID().replaceAll('-', '')}`;
      await pool.query(`CREATE SCHEMA ${schema}`);
      const url = new URL(address);
      url.searchParams.set('options', `-c search_path=${schema},public`);
      url.searchParams.set('application_name', schema);
      return url.href;
    },
    isEmpty: async (url) => (await getTables(pool, getSchema(url))).length === 0,
    holds: (url, text) => anyRowHolds(pool, getSchema(url), text),
    async drop(url) {
      await pool.query(`DROP SCHEMA ${getSchema(url)} CASCADE`);
    },
    close: () => pool.end(),
  };
}

/** Blocks all uses of some tables with another connection. Resolves with a function that ends the lock. */
export async function lockTables(url: string, tables: string): Promise<() => Promise<void>> {
  const other = new Client({ connectionString: url });
  await other.connect();
  await other.query(`BEGIN; LOCK TABLE ${tables} IN ACCESS EXCLUSIVE MODE`);
  return () => other.end();
}

function getSchema(url: string): string {
  const [schema] = /test_[0-9a-f]+/.exec(url) ?? [];
  if (schema === undefined) throw new Error(`${url} does not contain the name of a test schema`);
  return schema;
}

interface Queryable {
  query(sql: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

async function getTables(database: Queryable, schema: string): Promise<{ name: string }[]> {
  const statement = 'SELECT tablename AS name FROM pg_tables WHERE schemaname = $1';
  return (await database.query(statement, [schema])).rows as { name: string }[];
}

async function anyRowHolds(database: Queryable, schema: string, text: string): Promise<boolean> {
  for (const { name } of await getTables(database, schema)) {
    const { rows } = await database.query(
      `SELECT 1 FROM ${schema}.${name} row WHERE strpos(row::text, $1) > 0 LIMIT 1`,
      [text],
    );
    if (rows.length > 0) return true;
  }
  return false;
}
