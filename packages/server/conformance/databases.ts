import { join } from 'node:path';
import { afterAll } from 'vitest';
import { type DatabaseServer, TEST_CONNECTIONS, usePostgres } from '../../postgres/src/database.fixture.ts';
import { filesHold, getMiddle } from './database-files.ts';
import { temporaryFolder } from './folders.ts';

/** Whether the servers under test keep their memories in files, and not on a PostgreSQL server. */
export const ON_FILE = process.env.CONFORMANCE_DATABASE !== 'postgres';

let postgres: Promise<DatabaseServer> | undefined;
const created = new Set<string>();

afterAll(async () => {
  const server = await postgres;
  for (const url of created) await server?.drop(url);
  await server?.close();
});

/** Returns a new database: the path of a file, or the address of a database on a server. */
export async function newDatabase(): Promise<string> {
  if (ON_FILE) return join(temporaryFolder(), 'memory.db');
  const url = await (await getPostgres()).create();
  created.add(url);
  return url;
}

/** Whether the files of a database, or the rows of a database on a server, hold a word. */
export async function databaseHolds(database: string, word: string): Promise<boolean> {
  return isAddress(database) ? (await getPostgres()).holds(database, getMiddle(word)) : filesHold(database, word);
}

/** The flags that name a database. */
export function databaseFlags(database: string): string[] {
  return [isAddress(database) ? '--database-url' : '--db-path', database];
}

/** The environment variables that a service on this database needs. */
export function databaseEnvironment(database: string): Record<string, string> {
  return isAddress(database) ? { SERVICE_DATABASE_CONNECTIONS: String(TEST_CONNECTIONS) } : {};
}

/** Whether a database is named by the address of a server, and not by a path. */
export function isAddress(database: string): boolean {
  return database.includes('://');
}

function getPostgres(): Promise<DatabaseServer> {
  postgres ??= usePostgres();
  return postgres;
}
