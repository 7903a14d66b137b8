import { afterAll, beforeAll, describe } from 'vitest';
import { type StorageUnderTest, storageContract, WORKING_MAX } from '../../ports/storage.contract.ts';
import { distilStorageContract } from '../../ports/storage-distil.contract.ts';
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
      const { storage, lease } = await openPostgres({ url, connections, workingMax: WORKING_MAX });
      return {
        storage,
        lease,
        async reopen() {
          await storage.close();
          await server.reopening();
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
  // Apart, for each opens a database before every test beside it.
  describe('for clients', () => storageContract(openNew));
  describe('for distilling', () => distilStorageContract(openNew));
}
