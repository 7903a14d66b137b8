import { type Queries, raw, readVerbs, sql, type Transaction, writeVerbs } from '@memoryd/core';
import type { MemoryFilter } from '@memoryd/search';
import { newMemory } from '@memoryd/suites';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Connection } from './connection.ts';
import { type DatabaseServer, usePostgres } from './database.fixture.ts';
import { openTwice } from './open-twice.fixture.ts';
import { countReadRows } from './read-rows.fixture.ts';
import { createRecallWriter } from './recall-entry.ts';

const MEMORIES = 4000;
const WORDS = 20_000;
const NOW = 10;
/** A change deletes the records of others a day after their end. */
const NEXT_DAY = NOW + 25 * 60 * 60 * 1000;
const PAGE = { limit: 10, maxBytes: 1e6 };
const HERON: MemoryFilter = { words: { whole: ['heron'], beginnings: [] } };

let server: DatabaseServer;
beforeAll(async () => {
  server = await usePostgres();
});
afterAll(() => server.close());

/** Keeps the statistics of tables as they are until the test itself renews them. */
async function keepStatistics(connection: Connection, tables: readonly string[]): Promise<void> {
  for (const table of tables) await connection.run(sql`ALTER TABLE ${raw(table)} SET (autovacuum_enabled = false)`);
}

/** Returns a database with memories that the planner has no statistics of. */
async function createFilledDatabase(): Promise<Connection> {
  const { storage, connection } = await openTwice(server);
  await keepStatistics(connection, ['memory', 'attribute', 'memory_words', 'field_history', 'recall_entry', 'posting']);
  const memories = Array.from({ length: MEMORIES }, (_, i) =>
    newMemory({ id: `m${i}`, content: `heron ${i}`, userId: 'ada', tags: ['trip'], createdAt: 1 }),
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

const IDS = Array.from({ length: 20 }, (_, i) => `m${i * 100}`);

it.each<[string, { filter: MemoryFilter; ids?: string[] }]>([
  ['ids', { filter: {}, ids: IDS }],
  ['a tag', { filter: { tags: ['trip'] } }],
  ['a tag of a user', { filter: { userIds: ['ada'], tags: ['trip'] } }],
  ['ids and a tag', { filter: { tags: ['trip'] }, ids: IDS }],
  ['words', { filter: HERON }],
  ['the beginning of a word, of a user', { filter: { userIds: ['ada'], words: { whole: [], beginnings: ['her'] } } }],
])('a batch of a change by %s and of its undo reads only its memories after a bulk store', async (_name, selection) => {
  const connection = await createFilledDatabase();
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
  let ordinals: number[] = [];
  const selected = await countReadRows(connection, async (queries) => {
    ({ ordinals } = await readVerbs.selectForChange(queries, 'default', begun.no, selection, NOW));
  });
  expect(ordinals).toHaveLength(selection.ids ? IDS.length : MEMORIES);
  expect(Math.max(...Object.values(selected))).toBeLessThan(selection.ids ? MEMORIES / 4 : 4 * MEMORIES);
  ordinals = ordinals.slice(0, IDS.length);
  const changed = await count(async (transaction) => {
    const batch = { ordinals, selection, changes, at: NOW };
    const { outcome } = await writeVerbs.changeBatch(transaction, 'default', begun.no, batch);
    expect(outcome).toBe('changed');
  });
  expect(changed.memory).toBeGreaterThan(IDS.length);
  expect(Math.max(...Object.values(changed))).toBeLessThan(MEMORIES / 4);
  const undone = await count(async (transaction) => {
    const batch = await writeVerbs.undoChangeBatch(transaction, 'default', begun.no, NOW + 1);
    expect(batch?.restored).toHaveLength(IDS.length);
  });
  expect(Math.max(...Object.values(undone))).toBeLessThan(MEMORIES / 4);
});

it('a change that deletes expired records reads a few of them, however many there are', async () => {
  const { connection } = await openTwice(server);
  await keepStatistics(connection, ['bulk_change', 'changed_memory']);
  // One expired change with many memories, and others with one that are not expired.
  await connection.run(sql`
    INSERT INTO bulk_change (namespace, no, id, user_id, agent_id, digest, expires_at, arrived_until)
    SELECT 'default', -i, 'change ' || i, '', '', '', CASE WHEN i = 1 THEN 0 ELSE ${NEXT_DAY} END, 0
    FROM generate_series(1, ${MEMORIES}) AS i`);
  await connection.run(sql`
    INSERT INTO changed_memory (namespace, change, ordinal, before, after)
    SELECT 'default', CASE WHEN i <= ${MEMORIES} THEN -1 ELSE ${MEMORIES} - i END, i, '{}', ''
    FROM generate_series(1, ${2 * MEMORIES}) AS i`);
  const named = { id: 'next', userId: '', agentId: '', digest: 'digest' };
  const rows = await connection.write({ exclusiveNamespaces: ['default'], shared: [] }, (transaction) =>
    countReadRows(transaction, (queries: Queries) =>
      writeVerbs.beginChange({ ...transaction, ...queries }, 'default', named, NEXT_DAY),
    ),
  );
  expect(rows.changed_memory).toBeGreaterThan(0);
  expect(Math.max(...Object.values(rows))).toBeLessThan(MEMORIES / 4);
});

it('a change deletes only a part of many expired records if the statistics are of one record', async () => {
  const { connection } = await openTwice(server);
  await keepStatistics(connection, ['bulk_change', 'changed_memory']);
  await connection.run(sql`
    INSERT INTO bulk_change (namespace, no, id, user_id, agent_id, digest, expires_at, arrived_until)
    VALUES ('default', -1, 'old', '', '', '', 0, 0)`);
  const store = (from: number, to: number) =>
    connection.run(sql`
      INSERT INTO changed_memory (namespace, change, ordinal, before, after)
      SELECT 'default', -1, i, '{}', '{}' FROM generate_series(CAST(${from} AS int), ${to}) AS i`);
  await store(1, 1);
  for (const table of ['bulk_change', 'changed_memory']) await connection.run(sql`ANALYZE ${raw(table)}`);
  await store(2, 130);
  const dropped = await connection.write({ exclusiveNamespaces: [], shared: [] }, (transaction) =>
    writeVerbs.dropChanges(transaction, NEXT_DAY, 50),
  );
  expect(dropped).toEqual({ count: 50, more: true });
});

it('forgetting a text with many words reads its postings once if the statistics are from a nearly empty table', async () => {
  const { storage, connection } = await openTwice(server);
  const store = (words: number) => {
    const content = Array.from({ length: words }, (_, i) => `word${i.toString(36)}`).join(' ');
    return storage.storeMany([newMemory({ id: `m${words}`, content })]);
  };
  await keepStatistics(connection, ['posting']);
  // The table and its indexes stay long, and the planner learns that few rows are in them.
  await store(30_000);
  await connection.run(sql`DELETE FROM posting`);
  await store(3);
  await connection.run(sql`ANALYZE posting`);
  await store(WORDS);
  const rows = await connection.write({ exclusiveNamespaces: ['default'], shared: [] }, async (transaction) => {
    const ordinal = await writeVerbs.lastOrdinal(transaction, 'default');
    return countReadRows(transaction, (queries: Queries) =>
      createRecallWriter({ ...transaction, ...queries }).remove('default', [ordinal]),
    );
  });
  expect(rows.posting).toBeGreaterThanOrEqual(WORDS);
  expect(rows.posting).toBeLessThan(4 * WORDS);
});
