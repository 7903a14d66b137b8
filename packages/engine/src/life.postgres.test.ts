import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPostgres } from '@memoryd/postgres';
import { type DatabaseServer, TEST_CONNECTIONS, usePostgres } from '@memoryd/postgres/testing';
import { propertyRuns } from '@memoryd/search/testing';
import { openSqlite } from '@memoryd/sqlite';
import { deeds, Life, type StorageUnderTest, WORKING_MAX } from '@memoryd/suites';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ALL = { limit: 1000, maxBytes: 1e8 };

/** Reads the data of a namespace that does not depend on the adapter: without ordinals and run numbers. */
async function readAll({ storage }: StorageUnderTest, namespace: string, now: number) {
  const pages = await Promise.all([
    storage.memories(namespace, {}, ALL, now),
    storage.session(namespace, 'session 0', ALL, now),
    storage.session(namespace, 'session 1', ALL, now),
  ]);
  const runs = await storage.runs(namespace, ALL);
  const { working_count, episodic_count, semantic_count } = await storage.stats(namespace, now);
  return {
    memories: pages.map(({ items }) => items.map(({ ordinal, ...memory }) => memory)),
    histories: await Promise.all(pages[0].items.map(({ id }) => storage.history(namespace, id, ALL, now))),
    runs: runs.items.map(({ no, ...run }) => run),
    changes: await Promise.all(runs.items.map(async ({ no }) => bySeq(await storage.changes(namespace, no, ALL)))),
    counts: [working_count, episodic_count, semantic_count],
    plans: [
      await storage.planPromotion(namespace, { promotedUntil: now, now }, 100),
      await storage.planMerge(namespace, now, 100),
      await storage.planEvict(namespace, now, 100),
    ],
    least: (await storage.leastRetained(namespace, 'episodic', 100, now)).map(({ ordinal, ...memory }) => memory),
  };
}

// The order in which duplicates are moved to another memory is not defined.
function bySeq({ items, total }: Awaited<ReturnType<StorageUnderTest['storage']['changes']>>) {
  const changes = items.map(({ seq, ...change }) => JSON.stringify(change)).sort();
  return { changes, total };
}

describe('a random sequence of operations in PostgreSQL', () => {
  let server: DatabaseServer;
  let url: string;
  let folder: string;
  let databases: [StorageUnderTest, StorageUnderTest];

  beforeAll(async () => {
    server = await usePostgres();
    url = await server.create();
    folder = mkdtempSync(join(tmpdir(), 'memoryd-life-'));
    const opened = [
      await openPostgres({ url, connections: TEST_CONNECTIONS, workingMax: WORKING_MAX }),
      await openSqlite({ path: join(folder, 'memories.db'), workingMax: WORKING_MAX }),
    ] as const;
    const [postgres, sqlite] = opened.map(({ storage, lease, keys }) => ({
      storage,
      lease,
      keys,
      reopen: () => Promise.reject(new Error('reopen is not supported')),
      close: () => storage.close(),
    }));
    databases = [postgres, sqlite] as [StorageUnderTest, StorageUnderTest];
  });
  afterAll(async () => {
    await Promise.all(databases.map((database) => database.close()));
    await server.drop(url);
    await server.close();
    rmSync(folder, { recursive: true });
  });

  it('a random sequence of operations in PostgreSQL has the same result as in SQLite', async () => {
    let lives = 0;
    await fc.assert(
      fc.asyncProperty(deeds, async (deeds) => {
        const namespace = `life ${++lives}`;
        const [postgres, sqlite] = await Promise.all(
          databases.map(async (database) => {
            const life = new Life(namespace);
            await life.happen(database, deeds);
            return readAll(database, namespace, life.time);
          }),
        );
        expect(postgres).toEqual(sqlite);
      }),
      // Shrinking is disabled, because it repeats the operations and takes too long.
      { numRuns: propertyRuns(8), endOnFailure: true },
    );
    expect(await databases[0].storage.integrity()).toEqual([]);
  }, 240_000);
});
