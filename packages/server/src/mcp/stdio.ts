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

/** Requests that are open at a time; what comes after them waits in the pipe. */
const MAX_OPEN = 256;

/** One client on a pair of streams. */
export interface StdioConnection {
  /** Resolved, with why, when the client sends nothing more, cannot be written to, or sent what cannot be read on. */
  readonly ended: Promise<'input ended' | 'output broken' | 'message too large'>;
  /** Resolved when every request that has come in is answered, or cannot be. */
  answered(): Promise<void>;
  /** Tells the client of a log record, if it wants those of this level; from the start it wants warnings. */
  log(level: LoggingLevel, logger: string, data: unknown): void;
  close(): Promise<void>;
}

export interface StdioOptions extends Omit<McpOptions, 'logging'> {
  input: Readable;
  output: Writable;
  /** Most bytes of one message; a larger one ends the connection. */
  maxMessageBytes: number;
}

/** Serves one client on a pair of streams, a JSON-RPC message a line, until the connection is closed. */
export async function serveStdio(caller: McpCaller, options: StdioOptions): Promise<StdioConnection> {
  const transport = new AnsweringTransport(options);
  const server = createMcpServer(caller, { ...options, logging: true });
  const log = clientLog(server);
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

/** The SDK's transport, which also answers lines that are no messages, and knows what it has not answered yet. */
class AnsweringTransport extends StdioServerTransport {
  readonly #open = new Set<RequestId>();
  readonly #input: Readable;
  #onAnswered: (() => void) | undefined;

  constructor({ input, output, maxMessageBytes }: StdioOptions) {
    super(input, output, { maxBufferSize: maxMessageBytes });
    this.#input = input;
    this.onmessage = (message) => this.#note(message);
    this.onerror = (error) => this.#refuse(error);
  }

  answered(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onAnswered = resolve;
    });
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    await super.send(message);
    if (!('method' in message) && message.id !== undefined) this.#promote(message.id);
  }

  #note(message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message)) this.#open.add(message.id);
    if (this.#open.size >= MAX_OPEN) this.#input.pause();
    const cancelled = CancelledNotificationSchema.safeParse(message).data?.params.requestId;
    if (cancelled !== undefined) this.#promote(cancelled);
  }

  #promote(id: RequestId): void {
    this.#open.delete(id);
    if (this.#open.size < MAX_OPEN && this.#input.isPaused()) this.#input.resume();
    if (this.#open.size === 0) this.#onAnswered?.();
  }

  // The SDK passes over what it cannot read, and whoever sent it would wait for an answer (JSON-RPC 2.0, section 5.1).
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

/** What a client is told of the log, once it has said that it is ready. */
function clientLog(server: Server): StdioConnection['log'] {
  let least: LoggingLevel = 'warning';
  let isReady = false;
  server.oninitialized = () => {
    isReady = true;
  };
  server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
    least = params.level;
    return {};
  });
  return (level, logger, data) => {
    if (!isReady || (SEVERITY.get(level) ?? 0) < (SEVERITY.get(least) ?? 0)) return;
    // A client that is gone is noticed by its streams.
    server.sendLoggingMessage({ level, logger, data }).catch(() => undefined);
  };
}
