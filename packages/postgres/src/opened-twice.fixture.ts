import type { Storage } from '@memoryd/engine/storage-kit';
import { onTestFinished } from 'vitest';
import { type Connection, connect } from './connection.ts';
import type { DatabaseServer } from './database.fixture.ts';
import { openPostgres } from './open.ts';

/** A database of a test's own, opened as a service does, and by a connection beside it. */
export async function openTwice(server: DatabaseServer): Promise<{ storage: Storage; connection: Connection }> {
  const url = await server.create();
  const { storage } = await openPostgres({ url, connections: 1, workingMax: 1000 });
  const connection = connect({ url, connections: 1 });
  onTestFinished(async () => {
    await Promise.all([storage.close(), connection.close()]);
    await server.drop(url);
  });
  return { storage, connection };
}
