import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import { keyStoreContract } from '../../ports/key-store.contract.ts';
import { storageContract, WORKING_MAX } from '../../ports/storage.contract.ts';
import { distilStorageContract } from '../../ports/storage-distil.contract.ts';
import { keptStorageContract } from '../../ports/storage-kept.contract.ts';
import { type NamespacesUnderTest, namespaceStorageContract } from '../../ports/storage-namespaces.contract.ts';
import { openSqlite } from './open.ts';

describe('SQLite storage', () => {
  const openNew = async () => {
    const folder = await mkdtemp(join(tmpdir(), 'memoryd-'));
    const open = async (): Promise<NamespacesUnderTest> => {
      const { storage, lease, keys } = await openSqlite({ path: join(folder, 'memory.db'), workingMax: WORKING_MAX });
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
          await rm(folder, { recursive: true });
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
});
