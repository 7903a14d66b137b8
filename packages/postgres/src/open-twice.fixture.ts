import type { OpenDatabase } from '@memoryd/core';
import { onTestFinished } from 'vitest';
import { type Connection, connect } from './connection.ts';
import type { DatabaseServer } from './database.fixture.ts';
import { openPostgres } from './open.ts';

/**
 * Creates a database, and opens it as storage and with a separate connection. Both are closed at the end of the test.
 */
export async function openTwice(
  server: DatabaseServer,
): Promise<OpenDatabase & { connection: Connection; url: string }> {
  const url = await server.create();
  const opened = await openPostgres({ url, connections: 1, workingMax: 1000 });
  const { storage } = opened;
  const connection = connect({ url, connections: 2 });
  onTestFinished(async () => {
    await Promise.all([storage.close(), connection.close()]);
    await server.drop(url);
  });
  return { ...opened, connection, url };
}
