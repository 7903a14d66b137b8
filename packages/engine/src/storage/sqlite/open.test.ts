import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import { type StorageUnderTest, storageContract, WORKING_MAX } from '../../ports/storage.contract.ts';
import { distilStorageContract } from '../../ports/storage-distil.contract.ts';
import { openSqlite } from './open.ts';

describe('SQLite storage', () => {
  const openNew = async () => {
    const folder = await mkdtemp(join(tmpdir(), 'memoryd-'));
    const open = async (): Promise<StorageUnderTest> => {
      const { storage, lease } = await openSqlite({ path: join(folder, 'memory.db'), workingMax: WORKING_MAX });
      return {
        storage,
        lease,
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
});
