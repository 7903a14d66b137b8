import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Client } from './under-test.ts';

/**
 * Begins a request with a body of so many bytes, on a connection of its own, and sends the first of them when the server
 * has seen the request.
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
