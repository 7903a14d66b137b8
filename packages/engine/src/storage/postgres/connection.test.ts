import { getEventListeners } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { connect } from './connection.ts';
import { sql } from './sql.ts';

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

const LONGER_THAN_ANYTHING_MS = 60_000;

/** Lets anybody in, and then swallows what it is asked; `heard` is the first of that. */
async function startSilent(asked: Buffer[]): Promise<{ port: number; heard: Promise<void> }> {
  let hear = () => {};
  const heard = new Promise<void>((resolve) => {
    hear = resolve;
  });
  const silent = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      // AuthenticationOk and ReadyForQuery.
      socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]));
      socket.on('data', (bytes) => {
        asked.push(bytes);
        hear();
      });
    });
  });
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void silent.close());
  return { port: (silent.address() as { port: number }).port, heard };
}
