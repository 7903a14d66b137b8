import { MemoryError } from '@memoryd/contract/errors';
import { count, type Storage, sql } from '@memoryd/core';
import { newMemory } from '@memoryd/suites';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from './connection.ts';
import { type DatabaseServer, usePostgres } from './database.fixture.ts';
import { openTwice } from './open-twice.fixture.ts';
import { useModel } from './vectors.ts';

/** More than one transaction queues. */
const MEMORIES = 4500;

describe('a change of the embedding model with many memories', () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await usePostgres();
  });
  afterAll(() => server.close());

  /** Creates a database with memories embedded by the model "one". */
  async function createFilledDatabase(): Promise<{ storage: Storage; connection: Connection }> {
    const opened = await openTwice(server);
    const { storage, connection } = opened;
    await storage.useModel('one');
    await connection.run(sql`
      INSERT INTO memory (namespace, ordinal, id, session_id, user_id, agent_id, source, tier, importance, created_at, stored_at, updated_at,
        version, revision, text_digest, tags, metadata, attachment_bytes, content)
      SELECT 'space ' || n % 3, nextval('memory_ordinal'), 'id ' || n, 'session', '', '', 'api', 'episodic', 0.5, n, n, n,
        1, 1, sha256('text'), '[]', '{}', 0, 'text' FROM generate_series(1, ${MEMORIES}::integer) AS n`);
    await connection.run(sql`
      INSERT INTO recall_entry
        (namespace, ordinal, made_by, length, speaker, marks, terms, frequencies, speaker_terms, model)
      SELECT namespace, ordinal, 0, 1, 0, 0, '{}', '{}', '{}', no FROM memory, embedding_model`);
    await connection.run(sql`
      INSERT INTO tier_count (namespace, user_id, tier, slot, count)
      SELECT namespace, '', tier, 0, count(*) FROM memory GROUP BY namespace, tier`);
    return opened;
  }

  const countPending = (connection: Connection) => count(connection, sql`pending_embedding`);

  /** Returns a connection whose transactions fail from the third on. */
  function withFailures(connection: Connection): Connection {
    let writes = 0;
    const write: Connection['write'] = async (hold, work) => {
      if (++writes > 2) throw new MemoryError('UNAVAILABLE', 'away');
      return connection.write(hold, work);
    };
    return { ...connection, write };
  }

  /** Counts memories that neither have vectors of the model in use nor are queued. */
  const countMissing = (connection: Connection) =>
    count(
      connection,
      sql`recall_entry e JOIN embedding_model ON in_use AND no <> e.model
        LEFT JOIN pending_embedding p USING (namespace, ordinal) WHERE p.ordinal IS NULL`,
    );

  it('keeps its progress after a failure, and is resumed at the next attempt', async () => {
    const { storage, connection } = await createFilledDatabase();
    await expect(useModel(withFailures(connection), 'two')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    const pending = await countPending(connection);
    expect(pending).toBeGreaterThan(0);
    expect(pending).toBeLessThan(MEMORIES);
    expect((await storage.totals(1)).embedding).toEqual({ modelId: 'two', embedded: 0, total: MEMORIES });
    expect((await storage.integrity()).filter((problem) => problem.includes('vectors'))).toEqual([]);
    expect(await storage.useModel('two')).toBe(MEMORIES);
    expect((await storage.totals(1)).embedding).toEqual({ modelId: 'two', embedded: 0, total: MEMORIES });
  });

  it('a change of the embedding model with many memories is continued by pendingEmbeddings after it was aborted', async () => {
    const { storage, connection } = await createFilledDatabase();
    await useModel(connection, 'two', AbortSignal.abort());
    expect(await countPending(connection)).toBe(0);
    const embedded = new Set<number>();
    for (;;) {
      const batch = { limit: 1000, maxChars: 1e6, maxReembeddingChars: 1e6 };
      const { memories, reembed } = await storage.pendingEmbeddings('two', batch);
      if (memories.length === 0) break;
      expect(reembed).toBe(true);
      for (const { ordinal } of memories) embedded.add(ordinal);
      await storage.putVectors(
        'two',
        memories.map(({ ordinal, revision }) => ({ ordinal, revision, vectors: [] })),
      );
    }
    expect(embedded.size).toBe(MEMORIES);
    expect(await storage.useModel('two')).toBe(0);
  });

  it('removes memories with vectors of the previous model from the queue if that model is used again before the change is complete', async () => {
    const { storage, connection } = await createFilledDatabase();
    await expect(useModel(withFailures(connection), 'two')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(await storage.useModel('one')).toBe(0);
    expect(await countPending(connection)).toBe(0);
    expect((await storage.totals(1)).embedding).toEqual({ modelId: 'one', embedded: MEMORIES, total: MEMORIES });
  });

  /** Returns namespace and id of a memory by its number. */
  const getAddress = (n: number): [namespace: string, id: string] => [`space ${n % 3}`, `id ${n}`];

  it('queues all memories without vectors, even if two servers change the model concurrently with writes', async () => {
    const { storage, connection } = await createFilledDatabase();
    const write = async () => {
      for (const i of Array(30).keys()) {
        await storage.store(newMemory({ id: `new ${i}` }));
        await storage.forget(...getAddress(i + 1));
        const [namespace, id] = getAddress(i + 2001);
        await storage.update({ namespace, id, at: 2, content: 'another text' });
      }
    };
    await Promise.all([storage.useModel('two'), useModel(connection, 'three'), write()]);
    expect(await countMissing(connection)).toBe(0);
    const { modelId, ...counts } = (await storage.totals(1)).embedding ?? {};
    expect(['two', 'three']).toContain(modelId);
    expect(counts).toEqual({ embedded: 0, total: MEMORIES });
  });
});
