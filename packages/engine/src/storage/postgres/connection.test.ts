import { getEventListeners } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
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
