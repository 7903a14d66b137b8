import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type OpenStorage, openForTest, WORKING_MAX } from '@memoryd/suites';
import { openSqlite } from './open.ts';

/** Returns a function that opens a new database file. `close` deletes the file. */
export function openNewSqlite(workingMax: number = WORKING_MAX): OpenStorage {
  return async () => {
    const folder = await mkdtemp(join(tmpdir(), 'memoryd-'));
    return openForTest(
      () => openSqlite({ path: join(folder, 'memory.db'), workingMax, tokenStatesCacheBytes: 2 ** 20 }),
      () => rm(folder, { recursive: true }),
    );
  };
}
