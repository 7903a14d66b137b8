import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type OpenStorage, type StorageUnderTest, WORKING_MAX } from '../../ports/storage.fixture.ts';
import { openSqlite } from './open.ts';

/** Returns a function that opens a new database file, which `close` removes. */
export function openNewSqlite(workingMax: number = WORKING_MAX): OpenStorage {
  return async () => {
    const folder = await mkdtemp(join(tmpdir(), 'memoryd-'));
    const open = async (): Promise<StorageUnderTest> => {
      const { storage, lease, keys } = await openSqlite({ path: join(folder, 'memory.db'), workingMax });
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
}
