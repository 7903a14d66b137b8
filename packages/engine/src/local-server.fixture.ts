import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A running HTTP server. `close` also ends its connections. */
export interface LocalServer {
  /** Such as `http://127.0.0.1:40123`. */
  readonly origin: string;
  close(): Promise<void>;
}

/** Starts an HTTP server on a free port of this machine. */
export async function startLocalServer(respond: RequestListener): Promise<LocalServer> {
  const http = createServer(respond);
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  return {
    origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    async close() {
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  };
}
