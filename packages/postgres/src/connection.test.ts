import { getEventListeners } from 'node:events';
import { createServer, type Server } from 'node:net';
import { sql } from '@memoryd/engine/storage-kit';
import { newMemory } from '@memoryd/engine/storage-testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Connection, connect } from './connection.ts';
import { usePostgres } from './database.fixture.ts';
import { openPostgres } from './open.ts';

/** Takes connections and hangs up at once. */
let server: Server;
beforeAll(async () => {
  server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => server.close());

it('listening where no database answers leaves nothing on the signal that would have ended it', async () => {
  const { port } = server.address() as { port: number };
  const connection = connect({ url: `postgres://nobody:nothing@127.0.0.1:${port}/none`, connections: 1 });
  const { signal } = new AbortController();
  let listening = false;
  const listener = { listening: () => void (listening = true), heard: () => {}, signal };
  await expect(connection.listen(sql`'channel'`, listener)).rejects.toThrow();
  expect(listening).toBe(false);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  await connection.close();
});

it('what is asked once the database is closed is unavailable', async () => {
  const { port } = server.address() as { port: number };
  const connection = connect({ url: `postgres://nobody:nothing@127.0.0.1:${port}/none`, connections: 1 });
  await connection.close();
  const asked = [
    connection.row(sql`SELECT 1`),
    connection.snapshot((queries) => queries.row(sql`SELECT 1`)),
    connection.write('keys', (transaction) => transaction.row(sql`SELECT 1`)),
  ];
  await Promise.all(asked.map((each) => expect(each).rejects.toMatchObject({ code: 'UNAVAILABLE' })));
});

it('a server that stops answering is asked once and given up', async () => {
  const asked: Buffer[] = [];
  const { port, heard } = await startSilent(asked);
  const connection = connect({ url: `postgres://nobody:nothing@127.0.0.1:${port}/none`, connections: 4 });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const refused = expect(connection.row(sql`SELECT 1`)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await heard;
  await vi.advanceTimersByTimeAsync(LONGER_THAN_ANYTHING_MS);
  await refused;
  expect(asked).toHaveLength(1);
  await connection.close();
});

it('a server that ends a connection in the moment in which it opens is one that is away', async () => {
  let opened = 0;
  const ending = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      opened++;
      // As a server that is stopped does: the error follows without having been asked for anything.
      socket.end(Buffer.concat([WELCOME, fatal('57P01', 'terminating connection due to administrator command')]));
    });
  });
  await new Promise<void>((resolve) => ending.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void ending.close());
  const uncaught = vi.fn();
  process.on('uncaughtException', uncaught);
  onTestFinished(() => void process.off('uncaughtException', uncaught));
  const { port } = ending.address() as { port: number };
  const connection = connect({ url: `postgres://nobody:nothing@127.0.0.1:${port}/none`, connections: 1 });
  await expect(connection.row(sql`SELECT 1`)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await connection.close();
  expect(uncaught).not.toHaveBeenCalled();
  expect(opened).toBeGreaterThan(1);
});

describe.each([2, 4])('of %i connections', (connections) => {
  it('one is left to recall while as many writes or more wait for a namespace', async () => {
    const { storage, connection } = await openWith(connections);
    await storage.store(newMemory({ id: 'memory', content: 'red fox' }));
    const free = await holdNamespace(connection);
    const writes = Array.from({ length: connections + 1 }, () => storage.forget('default', 'another'));
    const request = { namespace: 'default', text: 'fox', filter: {}, now: 2, poolSize: 10, tailSize: 0 };
    const { ordinals } = await storage.search(request).finally(free);
    expect(ordinals).toHaveLength(1);
    const outcomes = (await Promise.all(writes)).map(({ outcome }) => outcome);
    expect(new Set(outcomes)).toEqual(new Set(['unknown']));
  });
});

/** A database opened as a service does, and by a connection of another process beside it. */
async function openWith(connections: number) {
  const server = await usePostgres();
  const url = await server.create();
  const { storage } = await openPostgres({ url, connections, workingMax: 1000 });
  const connection = connect({ url, connections: 1 });
  onTestFinished(async () => {
    await Promise.all([storage.close(), connection.close()]);
    await server.drop(url);
    await server.close();
  });
  return { storage, connection };
}

/** Lets nobody else write to the default namespace until what is answered is called. */
async function holdNamespace(connection: Connection): Promise<() => void> {
  let free = () => {};
  const freed = new Promise<void>((resolve) => {
    free = resolve;
  });
  await new Promise<void>((held, failed) => {
    connection
      .write({ exclusive: 'default' }, () => {
        held();
        return freed;
      })
      .catch(failed);
  });
  return free;
}

const LONGER_THAN_ANYTHING_MS = 60_000;

/** AuthenticationOk and ReadyForQuery. */
const WELCOME = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);

/** ErrorResponse, after which the server ends a connection. */
function fatal(code: string, message: string): Buffer {
  return told('E', Buffer.from(`SFATAL\0C${code}\0M${message}\0\0`));
}

/** A message of the protocol (postgresql.org/docs/17/protocol-message-formats.html). */
function told(type: string, payload: Buffer): Buffer {
  const head = Buffer.from(`${type}\0\0\0\0`);
  head.writeInt32BE(payload.length + 4, 1);
  return Buffer.concat([head, payload]);
}

/** The answer to the statements that begin a session: a primary that takes writes. */
function begun(): Buffer {
  const column = (name: string) =>
    Buffer.concat([Buffer.from(`${name}\0`), Buffer.from('000000000000000000100001ffffffff0000', 'hex')]);
  const columns = Buffer.concat([Buffer.from([0, 2]), column('isStandby'), column('isReadOnly')]);
  const row = Buffer.from([0, 2, 0, 0, 0, 1, 0x66, 0, 0, 0, 1, 0x66]);
  const done = (tag: string) => told('C', Buffer.from(`${tag}\0`));
  return Buffer.concat([
    done('SET'),
    done('SET'),
    told('T', columns),
    told('D', row),
    done('SELECT 1'),
    told('Z', Buffer.from('I')),
  ]);
}

/** Lets anybody in and begins a session, and then swallows what it is asked; `heard` is the first of that. */
async function startSilent(asked: Buffer[]): Promise<{ port: number; heard: Promise<void> }> {
  let hear = () => {};
  const heard = new Promise<void>((resolve) => {
    hear = resolve;
  });
  const silent = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(WELCOME);
      socket.once('data', () => {
        socket.write(begun());
        socket.on('data', (bytes) => {
          asked.push(bytes);
          hear();
        });
      });
    });
  });
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void silent.close());
  return { port: (silent.address() as { port: number }).port, heard };
}
