import { afterAll, beforeAll, describe } from 'vitest';
import { keyStoreContract } from '../../ports/key-store.contract.ts';
import { storageContract, WORKING_MAX } from '../../ports/storage.contract.ts';
import { distilStorageContract } from '../../ports/storage-distil.contract.ts';
import { keptStorageContract } from '../../ports/storage-kept.contract.ts';
import { type NamespacesUnderTest, namespaceStorageContract } from '../../ports/storage-namespaces.contract.ts';
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
    const open = async (): Promise<NamespacesUnderTest> => {
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
  // Apart, for each opens a database before every test beside it.
  describe('for clients', () => storageContract(openNew));
  describe('for distilling', () => distilStorageContract(openNew));
  describe('for namespaces', () => namespaceStorageContract(openNew));
  describe('for keys', () => keyStoreContract(openNew));
  describe('for copies', () => keptStorageContract(openNew));
}
