import { randomUUID } from 'node:crypto';
import { LIMITS } from '@memoryd/contract/limits';
import type { NewMemory, Storage } from '@memoryd/core';
import { newMemory } from '@memoryd/suites';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connect } from './connection.ts';
import { type DatabaseServer, getServerAddress, usePostgres } from './database.fixture.ts';
import { inspectPostgres, migrate } from './migrate.ts';
import { openPostgres } from './open.ts';
import { MIGRATIONS } from './schema.ts';

const memory = (id: string, fields: Partial<NewMemory> = {}) => newMemory({ id, ...fields });

/** Runs a script on a separate connection. Returns the rows of a single statement. */
async function alter(url: string, script: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(script);
  await client.end();
  return rows;
}

describe('a PostgreSQL database', () => {
  let server: DatabaseServer;
  let url: string;
  beforeAll(async () => {
    server = await usePostgres();
  });
  beforeEach(async () => {
    url = await server.create();
  });
  afterEach(() => server.drop(url));
  afterAll(() => server.close());

  const open = async (url: string) => (await openPostgres({ url, connections: 1, workingMax: 1000 })).storage;

  it('a PostgreSQL database is not changed by inspectPostgres', async () => {
    expect(await inspectPostgres(url, { report: () => {} })).toEqual({ at: 0, last: MIGRATIONS.length });
    expect(await alter(url, `SELECT to_regclass('property') AS property`)).toEqual([{ property: null }]);
    await (await open(url)).close();
    expect(await inspectPostgres(url, { report: () => {} })).toEqual({
      at: MIGRATIONS.length,
      last: MIGRATIONS.length,
    });
  });

  it('a PostgreSQL database is migrated step by step, each step completely or not at all, and keeps its data', async () => {
    const storage = await open(url);
    await storage.store(memory('kept'));
    await storage.close();
    const connection = connect({ url, connections: 1 });
    const steps = [
      ...MIGRATIONS,
      { mayOlderWrite: true, script: 'CREATE TABLE later (name text)' },
      { mayOlderWrite: true, script: 'DELETE FROM memory; SELECT no_such_function()' },
    ];
    await expect(migrate(connection, steps)).rejects.toThrow(/no_such_function/);
    await connection.close();
    expect(
      await alter(
        url,
        `SELECT value, (SELECT count(*)::int FROM memory) AS memories, to_regclass('later') IS NOT NULL AS later
        FROM property WHERE name = 'schema_version'`,
      ),
    ).toEqual([{ value: String(MIGRATIONS.length + 1), memories: 1, later: true }]);
  });

  it('a PostgreSQL database with tables of another program is rejected', async () => {
    await alter(url, 'CREATE TABLE memory (anything text)');
    await expect(open(url)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('a PostgreSQL database with synchronous_commit=off is rejected', async () => {
    const unsafe = new URL(url);
    unsafe.searchParams.set('options', `${unsafe.searchParams.get('options')} -c synchronous_commit=off`);
    await expect(open(unsafe.href)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('synchronous_commit'),
    });
  });

  it('a PostgreSQL database that cannot be reached is reported as UNAVAILABLE, without the password in the message', async () => {
    await expect(open('postgres://nobody:secret@127.0.0.1:1/none')).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.not.stringContaining('secret'),
    });
  });

  it('a PostgreSQL database has a vector index for each model after the first vector of that model', async () => {
    const storage = await open(url);
    await storage.store(memory('m'));
    for (const [model, values] of Object.entries({ one: [0.6, 0.8], other: [0, 0.6, 0.8] })) {
      await storage.useModel(model);
      await storage.putVectors(model, [{ ordinal: 1, revision: 1, vectors: [Float32Array.from(values)] }]);
      // Before the index exists, all vectors are compared.
      const vector = { modelId: model, values: Float32Array.from(values) };
      const request = { namespace: 'default', text: '', vector, filter: {}, now: 2, poolSize: 5, tailSize: 0 };
      expect([...(await storage.search(request)).ordinals]).toEqual([1]);
    }
    const indexes = `SELECT indisvalid FROM pg_index WHERE indexrelid::regclass::text LIKE 'memory_vector_of_%'`;
    await expect.poll(() => alter(url, indexes)).toEqual([{ indisvalid: true }, { indisvalid: true }]);
    await storage.close();
  });

  it('a PostgreSQL database with postings, vectors or counts that do not match the memories fails the integrity check', async () => {
    let storage = await open(url);
    await storage.useModel('model');
    for (const id of ['a', 'b', 'c', 'd', 'e']) await storage.store(memory(id));
    const vectors = [Float32Array.from([0.6, 0.8])];
    for (const ordinal of [1, 2, 3, 4, 5]) await storage.putVectors('model', [{ ordinal, revision: 1, vectors }]);
    expect(await storage.integrity()).toEqual([]);
    await storage.close();
    await alter(
      url,
      `DELETE FROM posting WHERE ordinal = 1;
       UPDATE posting SET is_semantic = true WHERE ordinal = 2;
       UPDATE memory_vector SET part = 1 WHERE ordinal = 3;
       UPDATE recall_entry SET length = length + 1 WHERE ordinal = 4;
       UPDATE recall_entry SET model = 0 WHERE ordinal = 5; DELETE FROM memory_vector WHERE ordinal = 5;
       UPDATE tier_count SET count = count + 1`,
    );
    storage = await open(url);
    expect(new Set(await storage.integrity())).toEqual(
      new Set([
        'the postings of memory 1 do not match its index entry',
        'the postings of memory 2 do not match its index entry',
        'memory 3 has missing vectors',
        'the postings of memory 4 do not match its index entry',
        'the index entry of memory 4 does not match its row',
        'memory 5 has no vectors and is not queued for embedding',
        'namespace default has a working count of 6, expected 5',
      ]),
    );
    await storage.close();
  });

  it('a PostgreSQL database with changed texts, attributes, links or usage fails the integrity check', async () => {
    let storage = await open(url);
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f'])
      await storage.store(memory(id, { tags: ['t'], metadata: { k: id } }));
    expect(await storage.integrity()).toEqual([]);
    await storage.close();
    await alter(
      url,
      `UPDATE memory SET content = 'something else' WHERE ordinal = 1;
       DELETE FROM attribute WHERE ordinal = 2 AND name = 'metadata.k';
       UPDATE memory SET tags = '[' WHERE ordinal = 3;
       INSERT INTO succession VALUES ('default', 4, 92, 1);
       INSERT INTO memory_history VALUES ('default', 90, 1, 1, 'text');
       INSERT INTO field_history SELECT namespace, 93, 1, false, session_id, source, importance, created_at, updated_at,
         valid_from, valid_to, 'nobody', merged_into, version, tags, metadata FROM memory WHERE ordinal = 5;
       INSERT INTO memory_access VALUES ('default', 91, 1, 1);
       INSERT INTO attribute VALUES ('default', 'tag', 'other', 5);
       UPDATE usage SET bytes = bytes - 1`,
    );
    storage = await open(url);
    expect(new Set(await storage.integrity())).toEqual(
      new Set([
        'the text of memory 1 does not match its checksum',
        'the index entry of memory 1 does not match its row',
        'memory 2 has no attribute row for its metadata.k',
        'memory 3 has invalid tags or metadata',
        'memory 92 supersedes memory 4, and one of them is missing',
        'memory 93 has earlier fields but no row',
        'memory 93 was merged into or superseded a missing memory',
        'memory 90 has a history but no row',
        'memory 91 has an access count but no row',
        'there are 12 attribute rows, expected 10',
        'the usage of namespace default is wrong',
      ]),
    );
    await storage.close();
  });

  it('rejects a backup with an error that names pg_dump', async () => {
    const storage = await open(url);
    await expect(storage.backup()).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('pg_dump'),
    });
    await storage.close();
  });

  it('creates no export for an aborted signal, and at most four unread exports at a time', async () => {
    const storage = await open(url);
    await storage.store(memory('a'));
    await expect(storage.exportRecords('default', {}, AbortSignal.abort())).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
    const copies = await Promise.all([1, 2, 3, 4].map(() => storage.exportRecords('default')));
    await expect(storage.exportRecords('default')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await copies[0]?.discard();
    for await (const _ of copies[1]?.records ?? []) break;
    const more = [await storage.exportRecords('default'), await storage.exportRecords('default')];
    expect(more.map(({ count }) => count)).toEqual([1, 1]);
    for (const copy of [...copies, ...more]) await copy.discard();
    await storage.close();
  });

  it('exports long text histories completely and in order', async () => {
    const storage = await open(url);
    await storage.storeMany([memory('a'), memory('b'), memory('c')]);
    await alter(
      url,
      `INSERT INTO memory_history SELECT 'default', 1, n, n, 'text ' || n || ' of a' FROM generate_series(1, 70) AS n;
       INSERT INTO memory_history SELECT 'default', 3, n, n, 'text ' || n || ' of c' FROM generate_series(1, 130) AS n;
       UPDATE memory SET revision = 71 WHERE ordinal = 1;
       UPDATE memory SET revision = 131 WHERE ordinal = 3`,
    );
    const copied: Record<string, string[]> = {};
    for await (const record of (await storage.exportRecords('default')).records) {
      if (!('memory' in record)) continue;
      const { id, history, content } = record.memory;
      copied[id] = [...history.map((text) => text.content), content];
    }
    const texts = (id: string, count: number) => Array.from({ length: count }, (_, i) => `text ${i + 1} of ${id}`);
    expect(copied).toEqual({
      a: [...texts('a', 70), 'content of a'],
      b: ['content of b'],
      c: [...texts('c', 130), 'content of c'],
    });
    await storage.close();
  });

  it('rejects an export if a text history exceeds the maximum line length, and the error names the memory', async () => {
    const storage = await open(url);
    await storage.storeMany([memory('terse'), memory('talkative')]);
    await storage.close();
    await alter(
      url,
      `INSERT INTO memory_history SELECT 'default', 2, n, n, repeat('0123456789abcdef', 65536) FROM generate_series(1, 129) AS n;
       UPDATE memory SET revision = 130 WHERE ordinal = 2`,
    );
    const reopened = await open(url);
    await expect(reopened.exportRecords('default')).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('memory talkative'),
    });
    await reopened.close();
  });

  it('filters by metadata names and values that are longer than an index key', async () => {
    const storage = await open(url);
    const long = 'x'.repeat(16_000);
    await storage.store(memory('long', { metadata: { [long.slice(0, 300)]: 1, note: long } }));
    const found = async (metadata: Record<string, string>) =>
      (await storage.memories('default', { metadata }, { limit: 10, maxBytes: 1e6 }, 2)).total;
    expect(await found({ note: long })).toBe(1);
    expect(await found({ note: `${long}y` })).toBe(0);
    expect(await found({ [long.slice(0, 300)]: '1' })).toBe(1);
    await storage.forget('default', 'long');
    expect(await storage.integrity()).toEqual([]);
    await storage.close();
  });
});

it('a PostgreSQL database with an encoding that cannot store every text is rejected', async () => {
  const address = getServerAddress('TEST_DATABASE_URL');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  for (const encoding of ['LATIN1', 'SQL_ASCII']) {
    await alter(address, `CREATE DATABASE ${name} TEMPLATE template0 ENCODING '${encoding}' LOCALE 'C'`);
    const url = new URL(address);
    url.pathname = name;
    const error = { code: 'UNAVAILABLE', message: expect.stringContaining(encoding) };
    await expect(inspectPostgres(url.href, { report: () => {} })).rejects.toMatchObject(error);
    await expect(openPostgres({ url: url.href, workingMax: 1000 })).rejects.toMatchObject(error);
    await alter(address, `DROP DATABASE ${name}`);
  }
});

describe('processes that share a database', () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await usePostgres();
  });
  afterAll(() => server.close());

  async function withTwoProcesses(work: (storages: [Storage, Storage], url: string) => Promise<void>): Promise<void> {
    const url = await server.create();
    const open = async () => (await openPostgres({ url, connections: 4, workingMax: 100 })).storage;
    // Concurrently, so that both find an empty database.
    const storages = await Promise.all([open(), open()]);
    try {
      await work(storages, url);
      expect(await storages[1].integrity()).toEqual([]);
    } finally {
      await Promise.allSettled(storages.map((storage) => storage.close()));
      await server.drop(url);
    }
  }

  it('store one memory per idempotency key', () =>
    withTwoProcesses(async (storages) => {
      for (let i = 0; i < 20; i++) {
        const idempotency = { key: `k${i}`, digest: 'd' };
        const outcomes = await Promise.all(
          storages.map((storage, by) => storage.store(memory(`m${i}-${by}`, { idempotency }))),
        );
        expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(['repeated', 'stored']);
      }
      expect((await storages[0].stats('default', 2)).working_count).toBe(20);
    }));

  it('processes that share a database lose no concurrent writes', () =>
    withTwoProcesses(async (storages) => {
      await storages[0].store(memory('changed'));
      // Few enough that none waits too long for a connection on a loaded machine.
      const writes = Array.from({ length: 30 }, (_, i) => {
        const storage = storages[i % 2] as Storage;
        if (i % 3 === 0) return storage.update({ namespace: 'default', id: 'changed', at: i, content: `text ${i}` });
        return storage.store(memory(`m${i}`, i % 5 === 0 ? { supersedes: 'changed' } : {}));
      });
      const outcomes = await Promise.all(writes);
      expect(outcomes.filter(({ outcome }) => outcome === 'updated')).toHaveLength(10);
      expect(outcomes.filter(({ outcome }) => outcome === 'stored')).toHaveLength(20);
      expect((await storages[1].memory('default', 'changed', 2))?.version).toBe(11);
      const { working_count, episodic_count } = await storages[1].stats('default', 2);
      expect(working_count + episodic_count).toBe(21);
    }));

  it('processes that share a database enforce a common quota, even if the quota is set while they store', () =>
    withTwoProcesses(async (storages) => {
      await storages[0].setQuota('default', { memories: 20, bytes: null });
      const store = (name: string, namespace: string) =>
        Array.from({ length: 40 }, (_, i) => storages[i % 2]?.store(memory(`${name}${i}`, { namespace })));
      const outcomes = await Promise.all(store('m', 'default'));
      expect(outcomes.filter((each) => each?.outcome === 'stored')).toHaveLength(20);
      const until = store('n', 'other');
      await storages[1].setQuota('other', { memories: 1, bytes: null });
      await Promise.all(until);
      expect(await storages[0].store(memory('late', { namespace: 'other' }))).toMatchObject({ outcome: 'over-quota' });
      const [, other] = await storages[0].usage(2);
      expect(other?.used.memories).toBe((await storages[1].stats('other', 2)).working_count);
    }));

  it('processes that share a database enforce a common maximum number of API keys', () =>
    withTwoProcesses(async ([one], url) => {
      await alter(
        url,
        `INSERT INTO api_key (id, namespace, user_id, agent_id, scope, name, digest, created_at)
         SELECT 'key ' || n, 'default', '', '', 'read', '', 'ab', 1 FROM generate_series(1, ${LIMITS.keys - 3}) AS n`,
      );
      const stores = await Promise.all([1, 2].map(() => openPostgres({ url, connections: 4, workingMax: 100 })));
      const key = {
        namespace: 'default',
        userId: '',
        agentId: '',
        scope: 'read' as const,
        name: '',
        digest: 'ab',
        createdAt: 1,
        expiresAt: null,
        lastUsedAt: null,
        revokedAt: null,
      };
      const added = await Promise.all(
        Array.from({ length: 10 }, (_, i) => stores[i % 2]?.keys.add({ ...key, id: `new ${i}` })),
      );
      expect(added.filter(Boolean)).toHaveLength(3);
      expect((await one.usage(2))[0]?.keys).toBe(LIMITS.keys);
      for (const { storage } of stores) await storage.close();
    }));

  it('processes that share a database claim their own memories for embedding, and take over the pending memories of a process that closes', () =>
    withTwoProcesses(async ([one, other]) => {
      await one.useModel('model');
      await one.store(memory('a'));
      await other.store(memory('b'));
      const getPending = async (storage: Storage) =>
        (
          await storage.pendingEmbeddings('model', { limit: 10, maxChars: 1000, maxReembeddingChars: 1000 })
        ).memories.map(({ content }) => content);
      expect(await getPending(other)).toEqual(['content of b']);
      expect(await getPending(one)).toEqual(['content of a']);
      await one.close();
      expect(await getPending(other)).toEqual(['content of a', 'content of b']);
    }));

  it('processes that share a database continue after the server has terminated their connections', () =>
    withTwoProcesses(async ([one, other], url) => {
      await Promise.all([one.store(memory('a')), other.store(memory('b'))]);
      await alter(
        url,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name = current_setting('application_name') AND pid <> pg_backend_pid()`,
      );
      await Promise.all([
        one.store(memory('c')),
        other.update({ namespace: 'default', id: 'a', at: 2, importance: 1 }),
      ]);
      expect((await one.stats('default', 2)).working_count).toBe(3);
    }));
});
