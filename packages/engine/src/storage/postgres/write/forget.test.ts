import { MemoryError } from '@memoryd/contract/errors';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { newMemory } from '../../../ports/new-memory.fixture.ts';
import type { Connection } from '../connection.ts';
import { type DatabaseServer, usePostgres } from '../database.fixture.ts';
import { openTwice } from '../opened-twice.fixture.ts';
import { deleteNamespace } from './delete-namespace.ts';
import { forgetMany } from './forget.ts';
import { VacuumRequests } from './vacuum.ts';

describe('what a forget of many has removed before it fails', () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await usePostgres();
  });
  afterAll(() => server.close());

  /** A database with memories for several rounds; `write` fails from the third time on. */
  async function failing(): Promise<Connection> {
    const { storage, connection } = await openTwice(server);
    await storage.storeMany(Array.from({ length: 600 }, (_, i) => newMemory({ id: `m${i}`, tags: ['tag'] })));
    let writes = 0;
    const write: Connection['write'] = async (hold, work) => {
      if (++writes > 2) throw new MemoryError('UNAVAILABLE', 'away');
      return connection.write(hold, work);
    };
    return { ...connection, write };
  }

  it.each([
    [
      'of a selection',
      (of: Connection, vacuum: VacuumRequests) => forgetMany(of, 'default', { tag: 'tag' }, { vacuum }),
    ],
    ['of a namespace', (of: Connection, vacuum: VacuumRequests) => deleteNamespace(of, 'default', vacuum)],
  ])('is vacuumed: %s', async (_, forget) => {
    const connection = await failing();
    const vacuum = new VacuumRequests(connection);
    const requested = vi.spyOn(vacuum, 'request').mockImplementation(() => {});
    await expect(forget(connection, vacuum)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(requested).toHaveBeenCalledOnce();
  });
});
