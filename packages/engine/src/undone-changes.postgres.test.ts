import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Storage } from '@memoryd/core';
import { openPostgres } from '@memoryd/postgres';
import { type DatabaseServer, usePostgres } from '@memoryd/postgres/testing';
import { openSqlite } from '@memoryd/sqlite';
import { newMemory } from '@memoryd/suites';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

const NOW = 10;

let server: DatabaseServer;
beforeAll(async () => {
  server = await usePostgres();
});
afterAll(() => server.close());

async function openFile(): Promise<Storage> {
  const folder = mkdtempSync(join(tmpdir(), 'undone-changes-'));
  const { storage } = await openSqlite({ path: join(folder, 'memory.db'), workingMax: 1000 });
  onTestFinished(async () => {
    await storage.close();
    rmSync(folder, { recursive: true });
  });
  return storage;
}

/** Opens a database with one connection, which runs the transactions in the order of their calls, as a file does. */
async function openDatabase(): Promise<Storage> {
  const url = await server.create();
  const { storage } = await openPostgres({ url, connections: 1, workingMax: 1000 });
  onTestFinished(async () => {
    await storage.close();
    await server.drop(url);
  });
  return storage;
}

describe.each([
  ['SQLite', openFile],
  ['PostgreSQL', openDatabase],
])('changes of many memories in %s', (_, open) => {
  it.each([1, 25, 60])(
    'a change of %i memories does not report success if its undo begins before it ends',
    async (count) => {
      const storage = await open();
      await storage.storeMany(Array.from({ length: count }, (_, i) => newMemory({ id: `m${i}` })));
      const change = {
        ...{ id: 'change', userId: '', agentId: '', digest: 'digest' },
        selection: { filter: {} },
        changes: { addTags: ['new'], removeTags: [] },
      };
      let changed = 0;
      const undone: ReturnType<Storage['undoChange']>[] = [];
      const result = await storage.changeMany('default', change, {
        now: () => NOW,
        onChanged(memories) {
          changed += memories.length;
          // After the last batch, only the end of the change is left.
          if (changed < count) return;
          undone.push(storage.undoChange('default', 'change', {}, { now: () => NOW, onChanged: () => {} }));
        },
      });
      expect(result).toEqual({ outcome: 'undone' });
      expect(await Promise.all(undone)).toEqual([{ outcome: 'undone', restored: count, kept: 0 }]);
    },
  );
});
