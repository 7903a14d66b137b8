import { LoggingLevelSchema } from '@modelcontextprotocol/core';
import type { LoggingLevel } from '@modelcontextprotocol/server';
import { serveStdio as serveEras } from '@modelcontextprotocol/server/stdio';
import type { McpCaller } from './caller.ts';
import type { CheckedServer } from './checked-server.ts';
import { type EndReason, LineTransport, type LineTransportOptions } from './line-transport.ts';
import { createMcpServer, type McpOptions } from './server.ts';

/** A client connection on a pair of streams. */
export interface StdioConnection {
  /** Resolved with the reason when the input ends, the output fails, or a message exceeds the size limit. */
  readonly ended: Promise<EndReason>;
  /** Resolved when every received request has a response or was cancelled, or the output is closed. */
  answered(): Promise<void>;
  /**
   * Sends a log record to the client if `level` is at least the level that the client has chosen; by default `warning`.
   * Sends nothing before the client has initialized, and nothing to clients of protocol revision 2026-07-28, which has
   * no log records.
   */
  log(level: LoggingLevel, logger: string, data: unknown): void;
  close(): Promise<void>;
}

export interface StdioOptions extends Omit<McpOptions, 'logging'>, LineTransportOptions {}

/**
 * Serves one client on a pair of streams, with one JSON-RPC message per line, until the connection is closed. The first
 * messages of the client choose the protocol revision.
 */
export async function serveStdio(caller: McpCaller, options: StdioOptions): Promise<StdioConnection> {
  const transport = new LineTransport(options);
  const clientLog = new ClientLog();
  const { close } = serveEras(
    ({ era }) => {
      const server = createMcpServer(caller, { ...options, logging: era === 'legacy' });
      if (era === 'legacy') clientLog.connect(server);
      return server;
    },
    { transport, onerror: () => {} },
  );
  return {
    ended: transport.ended,
    answered: () => transport.answered(),
    log: (level, logger, data) => clientLog.send(level, logger, data),
    close,
  };
}

const SEVERITY = new Map(LoggingLevelSchema.options.map((level, index) => [level, index]));

/** Sends log records to the client, after the client has initialized. */
class ClientLog {
  #minLevel: LoggingLevel = 'warning';
  #server: CheckedServer | undefined;

  connect(server: CheckedServer): void {
    server.oninitialized = () => {
      this.#server = server;
    };
    server.setRequestHandler('logging/setLevel', ({ params }) => {
      this.#minLevel = params.level;
      return {};
    });
  }

  send(level: LoggingLevel, logger: string, data: unknown): void {
    if ((SEVERITY.get(level) ?? 0) < (SEVERITY.get(this.#minLevel) ?? 0)) return;
    // Errors are ignored, because a disconnected client is detected through its streams.
    this.#server?.sendLoggingMessage({ level, logger, data }).catch(() => undefined);
  }
}
