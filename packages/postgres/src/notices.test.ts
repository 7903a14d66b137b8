import type { Notices } from '@memoryd/engine/storage-kit';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Connection, connect } from './connection.ts';
import { type DatabaseServer, usePostgres } from './database.fixture.ts';
import { PostgresNotices } from './notices.ts';

/** What one that listens was told, `missed` among it. */
interface Ear {
  heard: string[];
  until(count: number): Promise<string[]>;
}

describe('notices of processes that share a database', () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await usePostgres();
  });
  afterAll(() => server.close());

  async function database(): Promise<string> {
    const url = await server.create();
    onTestFinished(() => server.drop(url));
    return url;
  }

  /** What a process that shares the database has of them. */
  function open(url: string): { notices: Notices; connection: Connection } {
    const connection = connect({ url, connections: 1 });
    const notices = new PostgresNotices(connection);
    onTestFinished(async () => {
      await notices.close();
      await connection.close();
    });
    return { notices, connection };
  }

  async function listen(notices: Notices, topic: 'events' | 'keys' = 'events'): Promise<Ear> {
    const heard: string[] = [];
    await notices.hear(topic, { heard: (text) => heard.push(text), missed: () => heard.push('missed') });
    return {
      heard,
      async until(count) {
        for (let tries = 0; heard.length < count && tries < 400; tries++) await new Promise((r) => setTimeout(r, 25));
        return heard;
      },
    };
  }

  it('are heard by the others in the order in which they were told, and not by who tells them', async () => {
    const url = await database();
    const [one, two, three] = [open(url).notices, open(url).notices, open(url).notices];
    const ears = await Promise.all([one, two, three].map((notices) => listen(notices)));
    const texts = Array.from({ length: 1200 }, (_, i) => `of ${i}: 日本 ' \\ $1`);
    for (const text of texts) one.tell('events', text);
    for (const ear of ears.slice(1)) expect(await ear.until(texts.length)).toEqual(texts);
    two.tell('events', 'the end');
    await ears[0]?.until(1);
    expect(ears[0]?.heard).toEqual(['the end']);
  });

  it('that say the same are heard each', async () => {
    const url = await database();
    const [one, two] = [open(url).notices, open(url).notices];
    const ear = await listen(two);
    for (let i = 0; i < 3; i++) one.tell('events', 'again');
    expect(await ear.until(3)).toEqual(['again', 'again', 'again']);
  });

  it('are heard by those who listen for their topic, in their own schema', async () => {
    const [url, elsewhere] = [await database(), await database()];
    const [one, two, other] = [open(url).notices, open(url).notices, open(elsewhere).notices];
    const [events, keys, others] = [await listen(two), await listen(two, 'keys'), await listen(other)];
    one.tell('keys', 'a key');
    one.tell('events', 'an event');
    expect([await events.until(1), await keys.until(1)]).toEqual([['an event'], ['a key']]);
    expect(others.heard).toEqual([]);
  });

  it('that may have been missed while the connection was lost are told of, and later ones are heard', async () => {
    const url = await database();
    const [one, two] = [open(url).notices, open(url).notices];
    const ear = await listen(two);
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query(`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE query LIKE 'LISTEN%' AND datname = current_database() AND application_name = current_setting('application_name')`);
    await client.end();
    expect(await ear.until(1)).toEqual(['missed']);
    one.tell('events', 'after it');
    expect(await ear.until(2)).toEqual(['missed', 'after it']);
  });

  it('that are told in the moment in which the last have all been told are told too', async () => {
    const url = await database();
    const ear = await listen(open(url).notices);
    const { connection } = open(url);
    let tellNext = () => {};
    const run: Connection['run'] = (statement) => {
      const told = connection.run(statement);
      void told.then(() => queueMicrotask(() => tellNext()));
      return told;
    };
    const notices = new PostgresNotices({ ...connection, run });
    onTestFinished(() => notices.close());
    tellNext = () => {
      tellNext = () => {};
      notices.tell('events', 'the second');
    };
    notices.tell('events', 'the first');
    expect(await ear.until(2)).toEqual(['the first', 'the second']);
  });

  it('are told before the database is closed', async () => {
    const url = await database();
    const ear = await listen(open(url).notices);
    const { notices } = open(url);
    notices.tell('events', 'the last');
    await (notices as PostgresNotices).close();
    expect(await ear.until(1)).toEqual(['the last']);
  });
});
