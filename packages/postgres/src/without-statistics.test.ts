import { type Queries, raw, readVerbs, sql, type Transaction, writeVerbs } from '@memoryd/core';
import type { MemoryFilter } from '@memoryd/search';
import { newMemory } from '@memoryd/suites';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Connection } from './connection.ts';
import { type DatabaseServer, usePostgres } from './database.fixture.ts';
import { openTwice } from './open-twice.fixture.ts';
import { countReadRows } from './read-rows.fixture.ts';

const MEMORIES = 4000;
const NOW = 10;
const PAGE = { limit: 10, maxBytes: 1e6 };
const HERON: MemoryFilter = { words: { whole: ['heron'], beginnings: [] } };

let server: DatabaseServer;
beforeAll(async () => {
  server = await usePostgres();
});
afterAll(() => server.close());

/** Returns a database with memories that the planner has no statistics of. */
async function createFilledDatabase(): Promise<Connection> {
  const { storage, connection } = await openTwice(server);
  for (const table of ['memory', 'attribute', 'memory_words', 'field_history', 'recall_entry', 'posting']) {
    await connection.run(sql`ALTER TABLE ${raw(table)} SET (autovacuum_enabled = false)`);
  }
  const memories = Array.from({ length: MEMORIES }, (_, i) =>
    newMemory({ id: `m${i}`, content: `heron ${i}`, tags: ['trip'], createdAt: 1 }),
  );
  await storage.storeMany(memories);
  return connection;
}

it('lists by words read each memory a few times after a bulk store', async () => {
  const connection = await createFilledDatabase();
  for (const by of ['created', 'importance', 'use', 'retention'] as const) {
    const order = { by, direction: 'desc', offset: 0 } as const;
    const rows = await countReadRows(connection, (queries) =>
      readVerbs.memories(queries, 'default', HERON, PAGE, NOW, order),
    );
    expect(rows.memory).toBeGreaterThan(PAGE.limit);
    expect(rows.memory).toBeLessThan(4 * MEMORIES);
    expect(rows.memory_words).toBeLessThan(4 * MEMORIES);
  }
  const facet = await countReadRows(connection, (queries) =>
    readVerbs.facet(queries, 'default', HERON, { field: 'tag', limit: 10 }, NOW),
  );
  expect(facet.memory).toBeLessThan(4 * MEMORIES);
});

it('a batch of a change and of its undo reads only its memories after a bulk store', async () => {
  const connection = await createFilledDatabase();
  const ids = Array.from({ length: 20 }, (_, i) => `m${i * 100}`);
  const selection = { filter: {}, ids };
  const changes = { addTags: ['norway'], removeTags: ['trip'], importance: 0.9 };
  const count = (work: (transaction: Transaction) => Promise<unknown>) =>
    connection.write({ exclusiveNamespaces: ['default'], shared: [] }, (transaction) =>
      countReadRows(transaction, (queries: Queries) => work({ ...transaction, ...queries })),
    );
  const named = { id: 'change', userId: '', agentId: '', digest: 'digest' };
  const begun = await connection.write({ exclusiveNamespaces: ['default'], shared: [] }, (transaction) =>
    writeVerbs.beginChange(transaction, 'default', named, NOW),
  );
  if (begun.outcome !== 'begun') throw new Error(`the change must begin, but is ${begun.outcome}`);
  const changed = await count(async (transaction) => {
    const { ordinals } = await readVerbs.selectForChange(transaction, 'default', begun.no, selection, NOW);
    expect(ordinals).toHaveLength(ids.length);
    const batch = { ordinals, selection, changes, at: NOW };
    const { outcome } = await writeVerbs.changeBatch(transaction, 'default', begun.no, batch);
    expect(outcome).toBe('changed');
  });
  expect(changed.memory).toBeGreaterThan(ids.length);
  expect(Math.max(...Object.values(changed))).toBeLessThan(MEMORIES / 4);
  const undone = await count(async (transaction) => {
    const batch = await writeVerbs.undoChangeBatch(transaction, 'default', begun.no, NOW + 1);
    expect(batch?.restored).toHaveLength(ids.length);
  });
  expect(Math.max(...Object.values(undone))).toBeLessThan(MEMORIES / 4);
});
