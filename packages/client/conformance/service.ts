import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createProxy, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { MemoryClient, type MemoryClientOptions, VERSION } from '../src/index.ts';

/** Responds to one request. */
export type Reply = (response: ServerResponse, request: IncomingMessage) => void;

/** A fake service that sends scripted replies and records requests. */
export interface Service {
  port: number;
  /** Requests in order of arrival. Requests to `/health` are not recorded, because the client sends them on its own. */
  requests: IncomingMessage[];
}

/** Returns a reply with a body: a string is sent unchanged, any other value as JSON. */
export function reply(status: number, body: unknown, headers: Record<string, string> = {}): Reply {
  return (response) => {
    response.writeHead(status, { 'x-request-id': 'request-1', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

/** Returns a reply with an error body in the format of the service. */
export function refusal(status: number, code: string, headers: Record<string, string> = {}): Reply {
  return reply(status, { error: { code, message: `refused: ${code}`, request_id: 'request-1' } }, headers);
}

/** Accepts the request and never responds. */
export const silence: Reply = () => {};

/** Closes the connection without a response. */
export const hangUp: Reply = (response) => response.destroy();

/** Returns a reply that reports a healthy service with the given version. */
export function healthy(version: string): Reply {
  return reply(200, { status: 'healthy', version });
}

/**
 * Starts a service that sends the replies in order and repeats the last reply. The service stops at the end of the
 * test.
 */
export async function startService(replies: Reply[], health: Reply = healthy(VERSION)): Promise<Service> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === '/health') return health(response, request);
    requests.push(request);
    return (replies[requests.length - 1] ?? replies.at(-1))?.(response, request);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { port: (server.address() as AddressInfo).port, requests };
}

/** Creates a client with short delays between retries. */
export function createClient(port: number, options: MemoryClientOptions = {}): MemoryClient {
  return new MemoryClient({ url: `http://127.0.0.1:${port}`, retryDelayMs: 1, ...options });
}

/** A proxy between client and service that simulates network faults. */
export interface FaultyProxy {
  port: number;
  /** Closes every connection. */
  cut(): void;
  /** Loses the next `count` responses: closes the connection at the first byte of each response. */
  loseResponses(count: number): void;
}

/** Starts a proxy to a local port. The proxy stops at the end of the test. */
export async function startProxy(port: number): Promise<FaultyProxy> {
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
    loseResponses: (count) => {
      losing = count;
    },
  };
}
