import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A TCP proxy in front of a database server, such as one that follows the primary. */
export interface TcpProxy {
  /** Returns a database URL with the port of this proxy. */
  getUrl(url: string): string;
  /** Sends new connections to the server of another URL. */
  redirectTo(url: string): void;
  /** Cuts all connections at once. */
  cutConnections(): void;
}

/** Starts a proxy for the server of a URL on 127.0.0.1, and closes it when the test finishes. */
export async function startProxy(url: string): Promise<TcpProxy> {
  let port = Number(new URL(url).port);
  const sockets = new Set<Socket>();
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    track(client);
    track(upstream);
    client.pipe(upstream).pipe(client);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  const cutConnections = () => {
    for (const socket of sockets) socket.destroy();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    cutConnections();
  });
  return {
    getUrl(databaseUrl) {
      const proxied = new URL(databaseUrl);
      proxied.port = String((server.address() as AddressInfo).port);
      return proxied.href;
    },
    redirectTo(databaseUrl) {
      port = Number(new URL(databaseUrl).port);
    },
    cutConnections,
  };
}
