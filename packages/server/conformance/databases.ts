import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll } from 'vitest';
import { type DatabaseServer, TEST_CONNECTIONS, usePostgres } from '../../postgres/src/database.fixture.ts';
import { filesHold, getMiddle } from './database-files.ts';
import { createTemporaryFolder } from './folders.ts';

/** Whether the servers under test use SQLite files rather than PostgreSQL. */
export const ON_FILE = process.env.CONFORMANCE_DATABASE !== 'postgres';

let postgres: Promise<DatabaseServer> | undefined;
const created = new Set<string>();

afterAll(async () => {
  const server = await postgres;
  for (const url of created) await server?.drop(url);
  await server?.close();
});

/** Creates a database and returns its file path or its PostgreSQL URL. */
export async function newDatabase(): Promise<string> {
  if (ON_FILE) return join(createTemporaryFolder(), 'memory.db');
  const url = await (await getPostgres()).create();
  created.add(url);
  return url;
}

/**
 * Names a database that does not exist: a file in a missing folder, or an empty PostgreSQL database. `isMissing` returns
 * false as soon as a file, a folder or a table exists.
 */
export async function nameMissingDatabase(): Promise<{ database: string; isMissing(): Promise<boolean> }> {
  const database = await newDatabase();
  if (isAddress(database)) return { database, isMissing: async () => (await getPostgres()).isEmpty(database) };
  const folder = dirname(database);
  return { database: join(folder, 'new', 'memory.db'), isMissing: async () => readdirSync(folder).length === 0 };
}

/** Returns whether the files of a SQLite database, or the rows of a PostgreSQL database, contain a word. */
export async function databaseHolds(database: string, word: string): Promise<boolean> {
  return isAddress(database) ? (await getPostgres()).holds(database, getMiddle(word)) : filesHold(database, word);
}

/** Returns the command-line flags that select a database. */
export function databaseFlags(database: string): string[] {
  return [isAddress(database) ? '--database-url' : '--db-path', database];
}

/** Returns the environment variables that a service needs for this database. */
export function databaseEnvironment(database: string): Record<string, string> {
  return isAddress(database) ? { SERVICE_DATABASE_CONNECTIONS: String(TEST_CONNECTIONS) } : {};
}

/** Returns whether a database is given as a PostgreSQL URL rather than a file path. */
export function isAddress(database: string): boolean {
  return database.includes('://');
}

function getPostgres(): Promise<DatabaseServer> {
  postgres ??= usePostgres();
  return postgres;
}
