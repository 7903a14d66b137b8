import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import { storageContract } from '../../ports/storage.contract.ts';
import { type StorageUnderTest, WORKING_MAX } from '../../ports/storage.fixture.ts';
import { openSqlite } from './open.ts';

describe('SQLite storage', () => {
  const openNew = async () => {
    const folder = await mkdtemp(join(tmpdir(), 'memoryd-'));
    const open = async (): Promise<StorageUnderTest> => {
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
  storageContract(openNew);
});
