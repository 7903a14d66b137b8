import { getEventListeners } from 'node:events';
import { createServer, type Server } from 'node:net';
import { sql } from '@memoryd/core';
import { newMemory } from '@memoryd/suites';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Connection, connect } from './connection.ts';
import { usePostgres } from './database.fixture.ts';
import { openPostgres } from './open.ts';

/** Accepts connections and closes them immediately. */
let server: Server;
beforeAll(async () => {
  server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => server.close());

it('listen removes its listener from the signal if the database cannot be reached', async () => {
  const { port } = server.address() as { port: number };
  const connection = connect({ url: `postgres://nobody:nothing@127.0.0.1:${port}/none`, connections: 1 });
  const { signal } = new AbortController();
  let isListening = false;
  const listener = { onListening: () => void (isListening = true), onNotification: () => {}, signal };
  await expect(connection.listen(sql`'channel'`, listener)).rejects.toThrow();
  expect(isListening).toBe(false);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  await connection.close();
});

it('calls after close are rejected with UNAVAILABLE', async () => {
  const { port } = server.address() as { port: number };
  const connection = connect({ url: `postgres://nobody:nothing@127.0.0.1:${port}/none`, connections: 1 });
  await connection.close();
  const calls = [
    connection.row(sql`SELECT 1`),
    connection.snapshot((queries) => queries.row(sql`SELECT 1`)),
    connection.write('keys', (transaction) => transaction.row(sql`SELECT 1`)),
  ];
  await Promise.all(calls.map((each) => expect(each).rejects.toMatchObject({ code: 'UNAVAILABLE' })));
});

it('a statement is not retried if the server stops responding', async () => {
  const received: Buffer[] = [];
  const { port, firstReceived } = await startSilentServer(received);
  const connection = connect({ url: `postgres://nobody:nothing@127.0.0.1:${port}/none`, connections: 4 });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const rejected = expect(connection.row(sql`SELECT 1`)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await firstReceived;
  await vi.advanceTimersByTimeAsync(LONGER_THAN_ALL_TIMEOUTS_MS);
  await rejected;
  expect(received).toHaveLength(1);
  await connection.close();
});

it('a call is rejected with UNAVAILABLE if the server terminates connections while they are being opened', async () => {
  let opened = 0;
  const ending = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      opened++;
      // A stopping server sends this error without a request.
      socket.end(
        Buffer.concat([WELCOME, createFatalError('57P01', 'terminating connection due to administrator command')]),
      );
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

describe.each([2, 4])('with %i connections', (connections) => {
  it('a search gets a connection even if more writes than there are connections wait for the lock of a namespace', async () => {
    const { storage, connection } = await openWith(connections);
    await storage.store(newMemory({ id: 'memory', content: 'red fox' }));
    const release = await lockNamespace(connection);
    const writes = Array.from({ length: connections + 1 }, () => storage.forget('default', 'another'));
    const request = { namespace: 'default', text: 'fox', filter: {}, now: 2, poolSize: 10, tailSize: 0 };
    const { ordinals } = await storage.search(request).finally(release);
    expect(ordinals).toHaveLength(1);
    const outcomes = (await Promise.all(writes)).map(({ outcome }) => outcome);
    expect(new Set(outcomes)).toEqual(new Set(['unknown']));
  });
});

/** Opens a new database as storage and with a connection of another process. */
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

/** Locks the default namespace for writes. Returns a function that releases the lock. */
async function lockNamespace(connection: Connection): Promise<() => void> {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await new Promise<void>((onLocked, onFailed) => {
    connection
      .write({ exclusive: 'default' }, () => {
        onLocked();
        return released;
      })
      .catch(onFailed);
  });
  return release;
}

const LONGER_THAN_ALL_TIMEOUTS_MS = 60_000;

/** AuthenticationOk and ReadyForQuery. */
const WELCOME = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);

/** Creates an ErrorResponse, after which the server closes the connection. */
function createFatalError(code: string, message: string): Buffer {
  return createMessage('E', Buffer.from(`SFATAL\0C${code}\0M${message}\0\0`));
}

/** Creates a protocol message (postgresql.org/docs/17/protocol-message-formats.html). */
function createMessage(type: string, payload: Buffer): Buffer {
  const head = Buffer.from(`${type}\0\0\0\0`);
  head.writeInt32BE(payload.length + 4, 1);
  return Buffer.concat([head, payload]);
}

/** Creates the response to the statements at the start of a session: a writable primary. */
function createSessionResponse(): Buffer {
  const column = (name: string) =>
    Buffer.concat([Buffer.from(`${name}\0`), Buffer.from('000000000000000000100001ffffffff0000', 'hex')]);
  const columns = Buffer.concat([Buffer.from([0, 2]), column('isStandby'), column('isReadOnly')]);
  const row = Buffer.from([0, 2, 0, 0, 0, 1, 0x66, 0, 0, 0, 1, 0x66]);
  const complete = (tag: string) => createMessage('C', Buffer.from(`${tag}\0`));
  return Buffer.concat([
    complete('SET'),
    complete('SET'),
    createMessage('T', columns),
    createMessage('D', row),
    complete('SELECT 1'),
    createMessage('Z', Buffer.from('I')),
  ]);
}

/** Starts a server that accepts sessions and then never responds. `firstReceived` resolves at the first statement. */
async function startSilentServer(received: Buffer[]): Promise<{ port: number; firstReceived: Promise<void> }> {
  let onReceived = () => {};
  const firstReceived = new Promise<void>((resolve) => {
    onReceived = resolve;
  });
  const silent = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(WELCOME);
      socket.once('data', () => {
        socket.write(createSessionResponse());
        socket.on('data', (bytes) => {
          received.push(bytes);
          onReceived();
        });
      });
    });
  });
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void silent.close());
  return { port: (silent.address() as { port: number }).port, firstReceived };
}
