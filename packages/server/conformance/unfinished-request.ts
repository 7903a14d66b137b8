import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Client } from './under-test.ts';

/**
 * Begins a POST request on a new connection and leaves it unfinished. Sends `first`, the start of its body, once the
 * server has received the headers.
 *
 * @param bodyBytes the `Content-Length` that the request declares
 */
export async function beginRequest(client: Client, path: string, bodyBytes: number, first = '[{"con'): Promise<Socket> {
  const socket = connect(client.server.port, '127.0.0.1');
  socket.on('error', () => undefined);
  const expect = 'Expect: 100-continue';
  socket.write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\n${expect}\r\nContent-Length: ${bodyBytes}\r\n\r\n`);
  await once(socket, 'data');
  socket.write(first);
  return socket;
}
