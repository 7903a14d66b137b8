import { type Notices, sql } from '@memoryd/core';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Connection, connect } from './connection.ts';
import { type DatabaseServer, usePostgres } from './database.fixture.ts';
import { PostgresNotices } from './notices.ts';

/** Records the notices of a process, including `onGap`. */
interface Recorder {
  received: string[];
  /** Waits until `count` notices have been received. */
  waitFor(count: number): Promise<string[]>;
}

describe('notices of processes that share a database', () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await usePostgres();
  });
  afterAll(() => server.close());

  async function createDatabase(): Promise<string> {
    const url = await server.create();
    onTestFinished(() => server.drop(url));
    return url;
  }

  /** Opens notices and a connection like a process that shares the database. */
  function open(url: string): { notices: Notices; connection: Connection } {
    const connection = connect({ url, connections: 1 });
    const notices = new PostgresNotices(connection);
    onTestFinished(async () => {
      await notices.close();
      await connection.close();
    });
    return { notices, connection };
  }

  async function listen(notices: Notices, topic: 'events' | 'keys' = 'events'): Promise<Recorder> {
    const received: string[] = [];
    await notices.subscribe(topic, { onNotice: (text) => received.push(text), onGap: () => received.push('missed') });
    return {
      received,
      async waitFor(count) {
        for (let i = 0; received.length < count && i < 400; i++) await new Promise((r) => setTimeout(r, 25));
        return received;
      },
    };
  }

  it('notices of processes that share a database arrive in order at the other processes, but not at the sender', async () => {
    const url = await createDatabase();
    const [one, two, three] = [open(url).notices, open(url).notices, open(url).notices];
    const recorders = await Promise.all([one, two, three].map((notices) => listen(notices)));
    const texts = Array.from({ length: 1200 }, (_, i) => `of ${i}: 日本 ' \\ $1`);
    for (const text of texts) one.publish('events', text);
    for (const recorder of recorders.slice(1)) expect(await recorder.waitFor(texts.length)).toEqual(texts);
    two.publish('events', 'the end');
    await recorders[0]?.waitFor(1);
    expect(recorders[0]?.received).toEqual(['the end']);
  });

  it('notices of processes that share a database arrive whole if they exceed one payload, between those of others', async () => {
    const url = await createDatabase();
    const [one, two, three] = [open(url).notices, open(url).notices, open(url).notices];
    const recorder = await listen(three);
    const texts = ['x'.repeat(30_000), `${'y'.repeat(6999)}😀`.repeat(3), '日本'.repeat(10_000)];
    for (const text of texts) for (const notices of [one, two]) notices.publish('events', text);
    const received = await recorder.waitFor(6);
    expect([...received].sort()).toEqual([...texts, ...texts].sort());
  });

  it('notices of processes that share a database arrive after a notice whose sender stopped in the middle', async () => {
    const url = await createDatabase();
    const [one, { notices }] = [open(url).connection, open(url)];
    const recorder = await listen(open(url).notices);
    await one.run(sql`SELECT pg_notify('memoryd_' || md5(current_schema()), ${`${one.process} 0 events+ beginning`})`);
    notices.publish('events', 'whole');
    expect(await recorder.waitFor(1)).toEqual(['whole']);
  });

  it('notices of processes that share a database with equal texts arrive individually', async () => {
    const url = await createDatabase();
    const [one, two] = [open(url).notices, open(url).notices];
    const recorder = await listen(two);
    for (let i = 0; i < 3; i++) one.publish('events', 'again');
    expect(await recorder.waitFor(3)).toEqual(['again', 'again', 'again']);
  });

  it('notices of processes that share a database arrive only at listeners of their topic in the same schema', async () => {
    const [url, elsewhere] = [await createDatabase(), await createDatabase()];
    const [one, two, other] = [open(url).notices, open(url).notices, open(elsewhere).notices];
    const [events, keys, others] = [await listen(two), await listen(two, 'keys'), await listen(other)];
    one.publish('keys', 'a key');
    one.publish('events', 'an event');
    expect([await events.waitFor(1), await keys.waitFor(1)]).toEqual([['an event'], ['a key']]);
    expect(others.received).toEqual([]);
  });

  it('notices of processes that share a database are reported as missed after a lost connection, and later notices arrive', async () => {
    const url = await createDatabase();
    const [one, two] = [open(url).notices, open(url).notices];
    const recorder = await listen(two);
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query(`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE query LIKE 'LISTEN%' AND datname = current_database() AND application_name = current_setting('application_name')`);
    await client.end();
    expect(await recorder.waitFor(1)).toEqual(['missed']);
    one.publish('events', 'after it');
    expect(await recorder.waitFor(2)).toEqual(['missed', 'after it']);
  });

  it('notices of processes that share a database arrive if they are sent at the moment when the queue becomes empty', async () => {
    const url = await createDatabase();
    const recorder = await listen(open(url).notices);
    const { connection } = open(url);
    let tellNext = () => {};
    const run: Connection['run'] = (statement) => {
      const sent = connection.run(statement);
      void sent.then(() => queueMicrotask(() => tellNext()));
      return sent;
    };
    const notices = new PostgresNotices({ ...connection, run });
    onTestFinished(() => notices.close());
    tellNext = () => {
      tellNext = () => {};
      notices.publish('events', 'the second');
    };
    notices.publish('events', 'the first');
    expect(await recorder.waitFor(2)).toEqual(['the first', 'the second']);
  });

  it('notices of processes that share a database are sent before their sender is closed', async () => {
    const url = await createDatabase();
    const recorder = await listen(open(url).notices);
    const { notices } = open(url);
    notices.publish('events', 'the last');
    await (notices as PostgresNotices).close();
    expect(await recorder.waitFor(1)).toEqual(['the last']);
  });
});
