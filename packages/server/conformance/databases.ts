import { join } from 'node:path';
import { afterAll } from 'vitest';
import { type DatabaseServer, startPglite, usePostgres } from '../../engine/src/storage/postgres/database.fixture.ts';
import { filesHold, middleOf } from './database-files.ts';
import { temporaryFolder } from './folders.ts';

const { CONFORMANCE_DATABASE: kind = 'file', TEST_DATABASE_URL = '' } = process.env;

/** What the servers under test keep their memories in; tests of the file itself run on files alone. */
export const ON_FILE = kind === 'file';

/**
 * Whether several processes may use one database at a time, and one may be killed. PGlite, whose connections are all one
 * session, goes on with the transaction of a process that is dead.
 */
export const IS_SHARED = kind !== 'pglite';

/** Servers by the addresses of their databases. */
const servers = new Map<string, DatabaseServer>();
let postgres: Promise<DatabaseServer> | undefined;

afterAll(async () => {
  for (const [url, server] of servers) {
    await server.drop(url);
    if (kind === 'pglite') await server.close();
  }
  await (await postgres)?.close();
});

/** A new database: the path of a file, or the address of one on a server. */
export async function newDatabase(): Promise<string> {
  if (ON_FILE) return join(temporaryFolder(), 'memory.db');
  const server = await (kind === 'pglite' ? startPglite() : (postgres ??= usePostgres(TEST_DATABASE_URL)));
  const url = await server.create();
  servers.set(url, server);
  return url;
}

/** Whether the files of a database, or the rows of one on a server, hold a word. */
export async function databaseHolds(database: string, word: string): Promise<boolean> {
  const server = servers.get(database);
  return server ? server.holds(database, middleOf(word)) : filesHold(database, word);
}

/** The flags that name a database. */
export function databaseFlags(database: string): string[] {
  return [database.includes('://') ? '--database-url' : '--db-path', database];
}

/** To be called before a server opens a database, which no other has open where it is not shared. Answers its environment. */
export async function opening(database: string): Promise<Record<string, string>> {
  const server = servers.get(database);
  await server?.reopening(database);
  return server ? { SERVICE_DATABASE_CONNECTIONS: String(server.connections) } : {};
}
