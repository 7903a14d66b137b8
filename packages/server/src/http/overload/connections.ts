import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { MemoryError } from '@memoryd/contract';
import type { Telemetry } from '@memoryd/engine';
import type { FastifyInstance } from 'fastify';
import type { ConnectionCount } from '../../metrics/gauges.ts';

/** Connections above the limit that are reserved for `ALWAYS_SERVED`. */
const RESERVED_CONNECTIONS = 64;

/** Period for which closed and refused connections are collected into one log record. */
const REPORT_INTERVAL_MS = 10_000;

/** Routes served on reserved connections and under load: they report the state of the service, and are cheap. */
export const ALWAYS_SERVED: readonly string[] = ['/health', '/livez', '/readyz', '/metrics'];

export interface ConnectionLimits {
  /** Maximum number of open connections. */
  maxConnections: number;
  /** Maximum number of open connections from one address; 0 is unlimited. */
  maxConnectionsPerAddress: number;
}

interface Connection {
  address: string;
  /** Number of requests on the connection without a complete response. */
  pendingRequests: number;
  /**
   * Whether the connection was opened at a limit while no connection was idle. Such a connection serves only
   * `ALWAYS_SERVED`.
   */
  isReserved: boolean;
}

/**
 * Limits connections in total and per address. At a limit, a new connection closes the connection that has been idle
 * for longest; if no connection is idle, the new connection serves only `ALWAYS_SERVED`. A connection is idle while it
 * has no pending request, including before its first request.
 */
class Connections {
  readonly #limits: ConnectionLimits;
  readonly #open = new Map<Socket, Connection>();
  /** Idle connections, the longest idle first. */
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
    this.#open.set(socket, { address, pendingRequests: 0, isReserved });
    this.#byAddress.set(address, (this.#byAddress.get(address) ?? 0) + 1);
    this.#idle.add(socket);
    socket.once('close', () => this.#remove(socket));
    if (isReserved) this.#onExcess('refused', address);
  }

  begin(socket: Socket, response: ServerResponse): void {
    const connection = this.#open.get(socket);
    if (!connection) return;
    connection.pendingRequests += 1;
    this.#idle.delete(socket);
    response.once('close', () => {
      connection.pendingRequests -= 1;
      if (connection.pendingRequests === 0 && this.#open.has(socket)) this.#idle.add(socket);
    });
  }

  isReserved(socket: Socket): boolean {
    return this.#open.get(socket)?.isReserved ?? false;
  }

  /** Closes an idle connection if a limit is reached. Returns whether another connection fits. */
  #makeRoom(address: string): boolean {
    const { maxConnections, maxConnectionsPerAddress: maximum } = this.#limits;
    const isAddressFull = maximum > 0 && (this.#byAddress.get(address) ?? 0) >= maximum;
    if (isAddressFull) return this.#closeIdle((idleAddress) => idleAddress === address);
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
    const remaining = (this.#byAddress.get(connection.address) ?? 1) - 1;
    if (remaining > 0) this.#byAddress.set(connection.address, remaining);
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
  const report = createReporter(telemetry, limits);
  const connections = new Connections(limits, report);
  const server = app.server as Server;
  server.maxConnections = limits.maxConnections + RESERVED_CONNECTIONS;
  server.on('connection', (socket) => connections.add(socket));
  server.on('drop', (dropped) => report('refused', dropped?.remoteAddress ?? ''));
  server.prependListener('request', ({ socket }, response) => connections.begin(socket, response));
  app.decorate('connectionCount', () => ({ open: connections.size, idle: connections.idle }));
  app.addHook('onRequest', (request, reply, done) => {
    const { url = '' } = request.routeOptions;
    if (!connections.isReserved(request.raw.socket) || ALWAYS_SERVED.includes(url)) return done();
    reply.header('Connection', 'close');
    done(
      new MemoryError(
        'UNAVAILABLE',
        'all connections are in use; retry later, or raise the limit with SERVICE_MAX_CONNECTIONS',
      ),
    );
  });
}

/**
 * Returns a function that logs closed and refused connections: the first connection at once, and the numbers of further
 * connections together after `REPORT_INTERVAL_MS`.
 */
function createReporter(telemetry: Telemetry, { maxConnections, maxConnectionsPerAddress }: ConnectionLimits) {
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
    setTimeout(end, REPORT_INTERVAL_MS).unref();
  };

  function send(address: string): void {
    const facts = { ...counts, address, max_connections: maxConnections, max_per_address: maxConnectionsPerAddress };
    telemetry.report({ level: 'warn', component: 'http', event: 'too_many_connections', facts });
    counts.closed = 0;
    counts.refused = 0;
  }
}
