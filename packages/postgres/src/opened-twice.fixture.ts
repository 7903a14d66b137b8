import type { OpenDatabase } from '@memoryd/engine/storage-kit';
import { onTestFinished } from 'vitest';
import { type Connection, connect } from './connection.ts';
import type { DatabaseServer } from './database.fixture.ts';
import { openPostgres } from './open.ts';

/** A database of a test's own, opened as a service does, and by a connection beside it. */
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
