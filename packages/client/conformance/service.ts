import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createProxy, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { MemoryClient, type MemoryClientOptions, VERSION } from '../src/index.ts';

/** What a service answers to one request. */
export type Reply = (response: ServerResponse, request: IncomingMessage) => void;

/** A service that answers what it is told to, and remembers what it was asked. */
export interface Service {
  port: number;
  /** Requests but those for the version, in the order of arrival. */
  asked: IncomingMessage[];
}

/** A reply of JSON, or of a text as it stands. */
export function reply(status: number, body: unknown, headers: Record<string, string> = {}): Reply {
  return (response) => {
    response.writeHead(status, { 'x-request-id': 'request-1', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

/** A reply that refuses as the service does. */
export function refusal(status: number, code: string, headers: Record<string, string> = {}): Reply {
  return reply(status, { error: { code, message: `refused: ${code}`, request_id: 'request-1' } }, headers);
}

/** Takes the request and says nothing. */
export const silence: Reply = () => {};

/** Cuts the connection without an answer. */
export const hangUp: Reply = (response) => response.destroy();

/** What a healthy service of this version says of itself. */
export function healthy(version: string): Reply {
  return reply(200, { status: 'healthy', version });
}

/** A service that answers with one reply after the other, the last again and again. It ends with the test. */
export async function startService(replies: Reply[], health: Reply = healthy(VERSION)): Promise<Service> {
  const asked: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === '/health') return health(response, request);
    asked.push(request);
    return (replies[asked.length - 1] ?? replies.at(-1))?.(response, request);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { port: (server.address() as AddressInfo).port, asked };
}

/** A client that waits but a moment between attempts. */
export function createClient(port: number, options: MemoryClientOptions = {}): MemoryClient {
  return new MemoryClient({ url: `http://127.0.0.1:${port}`, retryDelayMs: 1, ...options });
}

/** What stands between a client and a service, and can fail. */
export interface Line {
  port: number;
  /** Breaks every connection. */
  cut(): void;
  /** From now on, so many answers are lost: their connections break when the first of their bytes comes. */
  lose(answers: number): void;
}

/** A line to a port of this machine. It ends with the test. */
export async function lineTo(port: number): Promise<Line> {
  const sockets = new Set<Socket>();
  let losing = 0;
  const proxy = createProxy((near) => {
    const far = connect(port, '127.0.0.1');
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    near.pipe(far);
    far.on('data', (bytes) => {
      if (losing === 0) return near.write(bytes);
      losing--;
      return near.destroy();
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    proxy.close();
    cut();
  });
  return {
    port: (proxy.address() as AddressInfo).port,
    cut,
    lose: (answers) => {
      losing = answers;
    },
  };
}
