import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { MemoryError } from '@memoryd/contract';
import type { Telemetry } from '@memoryd/engine';
import type { FastifyInstance } from 'fastify';
import type { ConnectionCount } from '../../metrics/gauges.ts';

/** Connections beyond the limit on which only requests about the service itself are served. */
const RESERVED = 64;

/** Interval between log records about connections that made room or were refused. */
const REPORT_EVERY_MS = 10_000;

/** Routes that answer on reserved connections and under load: they say how the service is, and take little. */
export const ALWAYS_SERVED: readonly string[] = ['/health', '/livez', '/readyz', '/metrics'];

export interface ConnectionLimits {
  /** Most connections at a time. */
  maxConnections: number;
  /** Most of them from one address; 0 is any number. */
  maxConnectionsPerAddress: number;
}

/** An open connection. */
interface Connection {
  address: string;
  /** Requests on it that have no whole response yet. */
  underWay: number;
  /** Whether it was opened when all others were in use. */
  isReserved: boolean;
}

/**
 * Limits connections, in all and from one address. Over a limit, the connection that has been idle for longest is closed;
 * if none is idle, the new one serves only `ALWAYS_SERVED`. A connection is idle while no request is under way on it,
 * also before the first.
 */
class Connections {
  readonly #limits: ConnectionLimits;
  readonly #open = new Map<Socket, Connection>();
  /** In the order in which they became idle. */
  readonly #idle = new Set<Socket>();
  readonly #byAddress = new Map<string, number>();
  readonly #onExcess: (kind: 'closed' | 'refused', address: string) => void;

  constructor(limits: ConnectionLimits, onExcess: (kind: 'closed' | 'refused', address: string) => void) {
    this.#limits = limits;
    this.#onExcess = onExcess;
  }

  get size(): number {
    return this.#open.size;
  }

  get idle(): number {
    return this.#idle.size;
  }

  add(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    const isReserved = !this.#makeRoom(address);
    this.#open.set(socket, { address, underWay: 0, isReserved });
    this.#byAddress.set(address, (this.#byAddress.get(address) ?? 0) + 1);
    this.#idle.add(socket);
    socket.once('close', () => this.#remove(socket));
    if (isReserved) this.#onExcess('refused', address);
  }

  begin(socket: Socket, response: ServerResponse): void {
    const connection = this.#open.get(socket);
    if (!connection) return;
    connection.underWay += 1;
    this.#idle.delete(socket);
    response.once('close', () => {
      connection.underWay -= 1;
      if (connection.underWay === 0 && this.#open.has(socket)) this.#idle.add(socket);
    });
  }

  isReserved(socket: Socket): boolean {
    return this.#open.get(socket)?.isReserved ?? false;
  }

  /** Returns whether there is room for another connection, after closing an idle one where that is needed. */
  #makeRoom(address: string): boolean {
    const { maxConnections, maxConnectionsPerAddress: most } = this.#limits;
    const isOverOwn = most > 0 && (this.#byAddress.get(address) ?? 0) >= most;
    if (isOverOwn) return this.#closeIdle((of) => of === address);
    return this.#open.size < maxConnections || this.#closeIdle(() => true);
  }

  #closeIdle(matches: (address: string) => boolean): boolean {
    for (const socket of this.#idle) {
      const { address = '' } = this.#open.get(socket) ?? {};
      if (!matches(address)) continue;
      this.#remove(socket);
      socket.destroy();
      this.#onExcess('closed', address);
      return true;
    }
    return false;
  }

  #remove(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (!connection) return;
    this.#open.delete(socket);
    this.#idle.delete(socket);
    const left = (this.#byAddress.get(connection.address) ?? 1) - 1;
    if (left > 0) this.#byAddress.set(connection.address, left);
    else this.#byAddress.delete(connection.address);
  }
}

declare module 'fastify' {
  interface FastifyInstance {
    connectionCount: () => ConnectionCount;
  }
}

/** Limits the connections of a server. See `Connections`. */
export function limitConnections(app: FastifyInstance, limits: ConnectionLimits, telemetry: Telemetry): void {
  const report = reporter(telemetry, limits);
  const connections = new Connections(limits, report);
  const server = app.server as Server;
  server.maxConnections = limits.maxConnections + RESERVED;
  server.on('connection', (socket) => connections.add(socket));
  server.on('drop', (dropped) => report('refused', dropped?.remoteAddress ?? ''));
  server.prependListener('request', ({ socket }, response) => connections.begin(socket, response));
  app.decorate('connectionCount', () => ({ open: connections.size, idle: connections.idle }));
  app.addHook('onRequest', (request, reply, done) => {
    const { url = '' } = request.routeOptions;
    if (!connections.isReserved(request.raw.socket) || ALWAYS_SERVED.includes(url)) return done();
    reply.header('Connection', 'close');
    done(new MemoryError('UNAVAILABLE', 'all connections are in use; SERVICE_MAX_CONNECTIONS is their limit'));
  });
}

/** Returns what reports excess connections, each kind at most once in ten seconds, with how many there were since. */
function reporter(telemetry: Telemetry, { maxConnections, maxConnectionsPerAddress }: ConnectionLimits) {
  const counts = { closed: 0, refused: 0 };
  let isQuiet = false;
  return (kind: 'closed' | 'refused', address: string): void => {
    counts[kind] += 1;
    if (isQuiet) return;
    isQuiet = true;
    const end = (): void => {
      isQuiet = false;
      if (counts.closed + counts.refused > 0) send(address);
    };
    send(address);
    setTimeout(end, REPORT_EVERY_MS).unref();
  };

  function send(address: string): void {
    const facts = { ...counts, address, max_connections: maxConnections, max_per_address: maxConnectionsPerAddress };
    telemetry.report({ level: 'warn', component: 'http', event: 'too_many_connections', facts });
    counts.closed = 0;
    counts.refused = 0;
  }
}
