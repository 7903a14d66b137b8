import { afterAll, beforeAll, describe } from 'vitest';
import { storageContract } from '../../ports/storage.contract.ts';
import { type StorageUnderTest, WORKING_MAX } from '../../ports/storage.fixture.ts';
import { type DatabaseServer, startPglite, usePostgres } from './database.fixture.ts';
import { openPostgres } from './open.ts';

const { TEST_DATABASE_URL } = process.env;

describe('PostgreSQL storage, by PGlite', () => storageContracts(startPglite));

describe.runIf(TEST_DATABASE_URL)('PostgreSQL storage', () =>
  storageContracts(() => usePostgres(TEST_DATABASE_URL ?? '')),
);

function storageContracts(start: () => Promise<DatabaseServer>): void {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server.close());

  const openNew = async () => {
    const url = await server.create();
    const open = async (): Promise<StorageUnderTest> => {
      const { connections } = server;
      const { storage, lease, keys } = await openPostgres({ url, connections, workingMax: WORKING_MAX });
      return {
        storage,
        lease,
        keys,
        async reopen() {
          await storage.close();
          await server.reopening(url);
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
}
