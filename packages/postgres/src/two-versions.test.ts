import { count, sql } from '@memoryd/core';
import { newMemory } from '@memoryd/suites';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DatabaseServer, usePostgres } from './database.fixture.ts';
import { inspectPostgres, migrate } from './migrate.ts';
import { openPostgres } from './open.ts';
import { openTwice } from './open-twice.fixture.ts';
import { MIGRATIONS } from './schema.ts';

/** A migration of a newer memoryd. */
const script = 'ALTER TABLE memory ADD COLUMN later text';
const ERROR = { code: 'UNAVAILABLE', message: expect.stringContaining('start the newer version') };

describe('a server that shares its database with a newer server', () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await usePostgres();
  });
  afterAll(() => server.close());

  it('continues to write and can be restarted if the newer schema allows older writers', async () => {
    const { storage, connection, url } = await openTwice(server);
    await migrate(connection, [...MIGRATIONS, { mayOlderWrite: true, script }]);
    expect(await storage.store(newMemory({ id: 'beside' }))).toMatchObject({ outcome: 'stored' });
    await storage.probe(1, 0);
    expect(await inspectPostgres(url, { report: () => {} })).toEqual({
      at: MIGRATIONS.length + 1,
      last: MIGRATIONS.length,
    });
    const again = await openPostgres({ url, connections: 1, workingMax: 1000 });
    expect(await again.storage.store(newMemory({ id: 'started again' }))).toMatchObject({ outcome: 'stored' });
    await again.storage.close();
  });

  it.each([
    ['schema', 'oldest_writer'],
    ['index entry version', 'entries_made_by'],
  ])('rejects writes and cannot be restarted if the newer %s forbids older writers', async (_, property) => {
    const { storage, connection, lease, url } = await openTwice(server);
    await storage.store(newMemory({ id: 'before' }));
    if (property === 'oldest_writer') await migrate(connection, [...MIGRATIONS, { mayOlderWrite: false, script }]);
    else await connection.run(sql`UPDATE property SET value = (value::integer + 1)::text WHERE name = ${property}`);

    const late = newMemory({ id: 'late' });
    await expect(storage.store(late)).rejects.toMatchObject(ERROR);
    await expect(storage.storeMany([late])).rejects.toMatchObject(ERROR);
    await expect(storage.update({ namespace: 'default', id: 'before', at: 1, content: 'x' })).rejects.toMatchObject(
      ERROR,
    );
    await expect(storage.forget('default', 'before')).rejects.toMatchObject(ERROR);
    await expect(storage.probe(1, 0)).rejects.toMatchObject(ERROR);
    await expect(lease.acquire('sleep', 'holder', 1, 1000)).rejects.toMatchObject(ERROR);
    expect(await storage.memory('default', 'before', 1)).toMatchObject({ id: 'before' });
    expect(await count(connection, sql`memory`)).toBe(1);

    await expect(inspectPostgres(url, { report: () => {} })).rejects.toMatchObject(ERROR);
    await expect(openPostgres({ url, connections: 1, workingMax: 1000 })).rejects.toMatchObject(ERROR);
  });

  it('completes a running write before the newer server migrates the schema', async () => {
    const { connection } = await openTwice(server);
    const done: string[] = [];
    let migrated = Promise.resolve();
    await connection.write({ exclusive: 'default' }, async (transaction) => {
      migrated = migrate(connection, [...MIGRATIONS, { mayOlderWrite: false, script }]).then(
        () => void done.push('migrated'),
      );
      const waiting = sql`pg_locks WHERE locktype = 'advisory' AND NOT granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
      while ((await count(connection, waiting)) === 0);
      await transaction.run(sql`SELECT 1`);
      done.push('written');
    });
    await migrated;
    expect(done).toEqual(['written', 'migrated']);
  });
});
