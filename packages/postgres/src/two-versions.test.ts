import { inspectDatabase } from '@memoryd/engine';
import { count, sql } from '@memoryd/engine/storage-kit';
import { newMemory } from '@memoryd/engine/storage-testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DatabaseServer, usePostgres } from './database.fixture.ts';
import { migrate } from './migrate-database.ts';
import { openPostgres } from './open.ts';
import { openTwice } from './opened-twice.fixture.ts';
import { MIGRATIONS } from './schema.ts';

/** A step of a newer memoryd. */
const script = 'ALTER TABLE memory ADD COLUMN later text';
const REFUSED = { code: 'UNAVAILABLE', message: expect.stringContaining('start the newer version in its place') };

describe('a server beside a newer one on its database', () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await usePostgres();
  });
  afterAll(() => server.close());

  it('goes on, and starts again, where the newer schema lets it', async () => {
    const { storage, connection, url } = await openTwice(server);
    await migrate(connection, [...MIGRATIONS, { mayOlderWrite: true, script }]);
    expect(await storage.store(newMemory({ id: 'beside' }))).toMatchObject({ outcome: 'stored' });
    await storage.probe(1, 0);
    expect(await inspectDatabase(url)).toEqual({ at: MIGRATIONS.length + 1, last: MIGRATIONS.length });
    const again = await openPostgres({ url, connections: 1, workingMax: 1000 });
    expect(await again.storage.store(newMemory({ id: 'started again' }))).toMatchObject({ outcome: 'stored' });
    await again.storage.close();
  });

  it.each([
    ['schema', 'oldest_writer'],
    ['rules of entries', 'entries_made_by'],
  ])('writes no longer, and does not start again, where the newer %s does not let it', async (_, mark) => {
    const { storage, connection, lease, url } = await openTwice(server);
    await storage.store(newMemory({ id: 'before' }));
    if (mark === 'oldest_writer') await migrate(connection, [...MIGRATIONS, { mayOlderWrite: false, script }]);
    else await connection.run(sql`UPDATE property SET value = (value::integer + 1)::text WHERE name = ${mark}`);

    const late = newMemory({ id: 'late' });
    await expect(storage.store(late)).rejects.toMatchObject(REFUSED);
    await expect(storage.storeMany([late])).rejects.toMatchObject(REFUSED);
    await expect(storage.update({ namespace: 'default', id: 'before', at: 1, content: 'x' })).rejects.toMatchObject(
      REFUSED,
    );
    await expect(storage.forget('default', 'before')).rejects.toMatchObject(REFUSED);
    await expect(storage.probe(1, 0)).rejects.toMatchObject(REFUSED);
    await expect(lease.acquire('sleep', 'holder', 1, 1000)).rejects.toMatchObject(REFUSED);
    expect(await storage.memory('default', 'before', 1)).toMatchObject({ id: 'before' });
    expect(await count(connection, sql`memory`)).toBe(1);

    await expect(inspectDatabase(url)).rejects.toMatchObject(REFUSED);
    await expect(openPostgres({ url, connections: 1, workingMax: 1000 })).rejects.toMatchObject(REFUSED);
  });

  it('ends what it writes before the newer one changes the schema', async () => {
    const { connection } = await openTwice(server);
    const done: string[] = [];
    let changed = Promise.resolve();
    await connection.write({ exclusive: 'default' }, async (transaction) => {
      changed = migrate(connection, [...MIGRATIONS, { mayOlderWrite: false, script }]).then(
        () => void done.push('changed'),
      );
      const waiting = sql`pg_locks WHERE locktype = 'advisory' AND NOT granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
      while ((await count(connection, waiting)) === 0);
      await transaction.run(sql`SELECT 1`);
      done.push('written');
    });
    await changed;
    expect(done).toEqual(['written', 'changed']);
  });
});
