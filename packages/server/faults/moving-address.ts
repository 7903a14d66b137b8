import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** An address that stands before a server, as that of a proxy or a virtual host does which follows the primary. */
export interface MovingAddress {
  /** The address of a database that is reached through this one. */
  of(url: string): string;
  /** Leads connections to come to the server of another address. */
  moveTo(url: string): void;
  /** Cuts all connections, whatever is under way on them. */
  cut(): void;
}

/** Opens one that leads to the server of an address; it goes with the test. */
export async function openAddress(url: string): Promise<MovingAddress> {
  let port = Number(new URL(url).port);
  const sockets = new Set<Socket>();
  const follow = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    follow(near);
    follow(far);
    near.pipe(far).pipe(near);
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    cut();
  });
  return {
    of(databaseUrl) {
      const through = new URL(databaseUrl);
      through.port = String((server.address() as AddressInfo).port);
      return through.href;
    },
    moveTo(databaseUrl) {
      port = Number(new URL(databaseUrl).port);
    },
    cut,
  };
}
