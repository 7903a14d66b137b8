import type { Readable, Writable } from 'node:stream';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  CancelledNotificationSchema,
  isJSONRPCRequest,
  type JSONRPCMessage,
  ErrorCode as JsonRpcCode,
  type LoggingLevel,
  LoggingLevelSchema,
  type RequestId,
  SetLevelRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { McpCaller } from './caller.ts';
import { createMcpServer, type McpOptions } from './server.ts';

/** Number of pending requests at which reading pauses, so that further requests wait in the pipe. */
const MAX_PENDING = 256;

/** A client connection on a pair of streams. */
export interface StdioConnection {
  /** Resolved with the reason when the input ends, the output fails, or a message exceeds the size limit. */
  readonly ended: Promise<'input ended' | 'output broken' | 'message too large'>;
  /** Resolved when every received request has a response or was cancelled, or the output is closed. */
  answered(): Promise<void>;
  /**
   * Sends a log record to the client if `level` is at least the level that the client has chosen; by default `warning`.
   * Sends nothing before the client has initialized.
   */
  log(level: LoggingLevel, logger: string, data: unknown): void;
  close(): Promise<void>;
}

export interface StdioOptions extends Omit<McpOptions, 'logging'> {
  input: Readable;
  output: Writable;
  /** Maximum size of one message in bytes; a larger message ends the connection. */
  maxMessageBytes: number;
}

/** Serves one client on a pair of streams, with one JSON-RPC message per line, until the connection is closed. */
export async function serveStdio(caller: McpCaller, options: StdioOptions): Promise<StdioConnection> {
  const transport = new TrackingTransport(options);
  const server = createMcpServer(caller, { ...options, logging: true });
  const log = createClientLog(server);
  const ended = new Promise<Awaited<StdioConnection['ended']>>((resolve) => {
    options.input.once('end', () => resolve('input ended')).once('close', () => resolve('input ended'));
    options.output.once('error', () => resolve('output broken'));
    server.onclose = () => resolve('message too large');
  });
  const broken = new Promise<void>((resolve) => options.output.once('close', resolve));
  await server.connect(transport);
  return {
    ended,
    log,
    answered: () => Promise.race([transport.answered(), broken]),
    close: () => server.close(),
  };
}

/** The SDK's transport, which also responds to invalid lines and tracks pending requests. */
class TrackingTransport extends StdioServerTransport {
  readonly #pending = new Set<RequestId>();
  readonly #input: Readable;
  #onAnswered: (() => void) | undefined;

  constructor({ input, output, maxMessageBytes }: StdioOptions) {
    super(input, output, { maxBufferSize: maxMessageBytes });
    this.#input = input;
    this.onmessage = (message) => this.#track(message);
    this.onerror = (error) => this.#refuse(error);
  }

  answered(): Promise<void> {
    if (this.#pending.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onAnswered = resolve;
    });
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    await super.send(message);
    if (!('method' in message) && message.id !== undefined) this.#complete(message.id);
  }

  #track(message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message)) this.#pending.add(message.id);
    if (this.#pending.size >= MAX_PENDING) this.#input.pause();
    const cancelled = CancelledNotificationSchema.safeParse(message).data?.params.requestId;
    if (cancelled !== undefined) this.#complete(cancelled);
  }

  #complete(id: RequestId): void {
    this.#pending.delete(id);
    if (this.#pending.size < MAX_PENDING && this.#input.isPaused()) this.#input.resume();
    if (this.#pending.size === 0) this.#onAnswered?.();
  }

  // Responds to lines that the SDK cannot parse and ignores, because their sender would wait forever (JSON-RPC 2.0,
  // section 5.1).
  #refuse(error: Error): void {
    if (error instanceof SyntaxError) this.#sendError(JsonRpcCode.ParseError, 'a line must be one JSON value');
    else if (error.name === 'ZodError' || error.name === '$ZodError') {
      this.#sendError(JsonRpcCode.InvalidRequest, 'a line must be one JSON-RPC 2.0 message');
    }
  }

  #sendError(code: number, message: string): void {
    void this.send({ jsonrpc: '2.0', error: { code, message } });
  }
}

const SEVERITY = new Map(LoggingLevelSchema.options.map((level, index) => [level, index]));

/** Returns the function that sends log records to the client, after the client has initialized. */
function createClientLog(server: Server): StdioConnection['log'] {
  let minLevel: LoggingLevel = 'warning';
  let isReady = false;
  server.oninitialized = () => {
    isReady = true;
  };
  server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
    minLevel = params.level;
    return {};
  });
  return (level, logger, data) => {
    if (!isReady || (SEVERITY.get(level) ?? 0) < (SEVERITY.get(minLevel) ?? 0)) return;
    // Errors are ignored, because a disconnected client is detected through its streams.
    server.sendLoggingMessage({ level, logger, data }).catch(() => undefined);
  };
}
