import { afterAll, beforeAll, describe } from 'vitest';
import { storageContract } from '../../ports/storage.contract.ts';
import { type StorageUnderTest, WORKING_MAX } from '../../ports/storage.fixture.ts';
import { type DatabaseServer, TEST_CONNECTIONS, usePostgres } from './database.fixture.ts';
import { openPostgres } from './open.ts';

describe('PostgreSQL storage', () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await usePostgres();
  });
  afterAll(() => server.close());

  const openNew = async () => {
    const url = await server.create();
    const open = async (): Promise<StorageUnderTest> => {
      const { storage, lease, keys } = await openPostgres({
        url,
        connections: TEST_CONNECTIONS,
        workingMax: WORKING_MAX,
      });
      return {
        storage,
        lease,
        keys,
        async reopen() {
          await storage.close();
          return open();
        },
        async close() {
          await storage.close();
          await server.drop(url);
        },
      };
    };
    return open();
  };
  storageContract(openNew);
});
