import { MemoryError } from '@memoryd/contract/errors';
import { count, type Storage, sql } from '@memoryd/engine/storage-kit';
import { newMemory } from '@memoryd/engine/storage-testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from './connection.ts';
import { type DatabaseServer, usePostgres } from './database.fixture.ts';
import { openTwice } from './opened-twice.fixture.ts';
import { useModel } from './vectors.ts';

/** More than one transaction lets wait. */
const MEMORIES = 4500;

describe('a change of the model of many memories', () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await usePostgres();
  });
  afterAll(() => server.close());

  /** A database with memories that the model "one" has embedded. */
  async function filled(): Promise<{ storage: Storage; connection: Connection }> {
    const opened = await openTwice(server);
    const { storage, connection } = opened;
    await storage.useModel('one');
    await connection.run(sql`
      INSERT INTO memory (namespace, ordinal, id, session_id, user_id, agent_id, source, tier, importance, created_at, stored_at, updated_at,
        version, revision, text_digest, tags, metadata, content)
      SELECT 'space ' || n % 3, nextval('memory_ordinal'), 'id ' || n, 'session', '', '', 'api', 'episodic', 0.5, n, n, n,
        1, 1, sha256('text'), '[]', '{}', 'text' FROM generate_series(1, ${MEMORIES}::integer) AS n`);
    await connection.run(sql`
      INSERT INTO recall_entry
        (namespace, ordinal, made_by, length, speaker, marks, terms, frequencies, speaker_terms, model)
      SELECT namespace, ordinal, 0, 1, 0, 0, '{}', '{}', '{}', no FROM memory, embedding_model`);
    await connection.run(sql`
      INSERT INTO tier_count (namespace, tier, slot, count)
      SELECT namespace, tier, 0, count(*) FROM memory GROUP BY namespace, tier`);
    return opened;
  }

  const countWaiting = (connection: Connection) => count(connection, sql`pending_embedding`);

  /** Fails from the third transaction on. */
  function failing(connection: Connection): Connection {
    let writes = 0;
    const write: Connection['write'] = async (hold, work) => {
      if (++writes > 2) throw new MemoryError('UNAVAILABLE', 'away');
      return connection.write(hold, work);
    };
    return { ...connection, write };
  }

  /** Memories that neither have vectors of the model in use nor wait for them. */
  const countLeftOut = (connection: Connection) =>
    count(
      connection,
      sql`recall_entry e JOIN embedding_model ON in_use AND no <> e.model
        LEFT JOIN pending_embedding p USING (namespace, ordinal) WHERE p.ordinal IS NULL`,
    );

  it('keeps what it has done when it fails, and goes on from there', async () => {
    const { storage, connection } = await filled();
    await expect(useModel(failing(connection), 'two')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    const waiting = await countWaiting(connection);
    expect(waiting).toBeGreaterThan(0);
    expect(waiting).toBeLessThan(MEMORIES);
    expect((await storage.totals(1)).embedding).toEqual({ modelId: 'two', embedded: 0, total: MEMORIES });
    expect((await storage.integrity()).filter((problem) => problem.includes('vectors'))).toEqual([]);
    expect(await storage.useModel('two')).toBe(MEMORIES);
    expect((await storage.totals(1)).embedding).toEqual({ modelId: 'two', embedded: 0, total: MEMORIES });
  });

  it('that was given up is gone on with by who looks for memories that wait', async () => {
    const { storage, connection } = await filled();
    await useModel(connection, 'two', AbortSignal.abort());
    expect(await countWaiting(connection)).toBe(0);
    const embedded = new Set<number>();
    for (;;) {
      const batch = { limit: 1000, maxChars: 1e6, maxCharsAnew: 1e6 };
      const { memories, anew } = await storage.pendingEmbeddings('two', batch);
      if (memories.length === 0) break;
      expect(anew).toBe(true);
      for (const { ordinal } of memories) embedded.add(ordinal);
      await storage.putVectors(
        'two',
        memories.map(({ ordinal, revision }) => ({ ordinal, revision, vectors: [] })),
      );
    }
    expect(embedded.size).toBe(MEMORIES);
    expect(await storage.useModel('two')).toBe(0);
  });

  it('lets none wait that has vectors of a model that comes back before it is done', async () => {
    const { storage, connection } = await filled();
    await expect(useModel(failing(connection), 'two')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(await storage.useModel('one')).toBe(0);
    expect(await countWaiting(connection)).toBe(0);
    expect((await storage.totals(1)).embedding).toEqual({ modelId: 'one', embedded: MEMORIES, total: MEMORIES });
  });

  /** Where the memory of a number is. */
  const numbered = (n: number): [namespace: string, id: string] => [`space ${n % 3}`, `id ${n}`];

  it('by two servers at once, while others write, lets every memory wait that lacks vectors', async () => {
    const { storage, connection } = await filled();
    const writing = async () => {
      for (const i of Array(30).keys()) {
        await storage.store(newMemory({ id: `new ${i}` }));
        await storage.forget(...numbered(i + 1));
        const [namespace, id] = numbered(i + 2001);
        await storage.update({ namespace, id, at: 2, content: 'another text' });
      }
    };
    await Promise.all([storage.useModel('two'), useModel(connection, 'three'), writing()]);
    expect(await countLeftOut(connection)).toBe(0);
    const { modelId, ...counts } = (await storage.totals(1)).embedding ?? {};
    expect(['two', 'three']).toContain(modelId);
    expect(counts).toEqual({ embedded: 0, total: MEMORIES });
  });
});
