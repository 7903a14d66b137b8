import { once } from 'node:events';
import { createServer, request as startRequest } from 'node:http';
import { onTestFinished } from 'vitest';
import { freePort } from '../../server/conformance/process.ts';

/**
 * State of a gateway. `down`: the port is closed. `hanging`: requests are accepted and get no response. `broken`:
 * requests are accepted, and their connections are closed.
 */
export type GatewayState = 'up' | 'down' | 'hanging' | 'broken';

/** A gateway to a real server, which can fail. */
export interface Gateway {
  url: string;
  /** Method and path of the requests in order of arrival, except the requests to `/health`. */
  requests: string[];
  /** Returns the number of requests with this method and path. */
  count(request: string): number;
  set(state: GatewayState): Promise<void>;
  /** Forwards the next `count` requests, and closes the connection instead of responding. */
  loseResponses(count: number): void;
  /** Accepts requests with this method and path, and never responds to them. */
  hold(request: string): void;
}

/** Starts a gateway to a local port. The gateway stops at the end of the test. */
export async function startGateway(target: number, state: GatewayState = 'up'): Promise<Gateway> {
  const port = await freePort();
  const requests: string[] = [];
  let current: GatewayState = 'down';
  let losing = 0;
  let held: string | undefined;
  const server = createServer((request, response) => {
    const { method, url, headers } = request;
    const operation = `${method} ${url?.split('?')[0]}`;
    if (url !== '/health') requests.push(operation);
    if (current === 'hanging' || operation === held) return;
    if (current === 'broken') {
      response.destroy();
      return;
    }
    const outgoing = startRequest({ host: '127.0.0.1', port: target, method, path: url, headers }, (incoming) => {
      if (losing > 0 && url !== '/health') {
        losing--;
        response.destroy();
        incoming.resume();
        return;
      }
      response.writeHead(incoming.statusCode ?? 502, incoming.headers);
      incoming.pipe(response);
    });
    outgoing.on('error', () => response.destroy());
    request.pipe(outgoing);
  });
  const set = async (next: GatewayState): Promise<void> => {
    if (next === 'down' && server.listening) {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    }
    if (next !== 'down' && !server.listening) {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    }
    current = next;
  };
  onTestFinished(() => set('down'));
  await set(state);
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    count: (request) => requests.filter((each) => each === request).length,
    set,
    loseResponses: (count) => {
      losing = count;
    },
    hold: (request) => {
      held = request;
    },
  };
}
