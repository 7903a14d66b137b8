import { EventEmitter, once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  ProtocolErrorCode,
  type RequestId,
  type Transport,
  UnsupportedProtocolVersionError,
} from '@modelcontextprotocol/server';
import { VERSIONS_WITHOUT_INITIALIZE } from './definition.ts';
import { createInvalidRequest, findBatchProblem, getRequestId, isMessage } from './messages.ts';

/** Number of pending requests at which reading pauses, so that further requests wait in the pipe. */
const MAX_PENDING = 256;

/** The response to a request for which `onmessage` throws an error. */
const SERVER_ERROR = { code: ProtocolErrorCode.InternalError, message: 'server error; see the server log' };

/** Why a connection ended. */
export type EndReason = 'input ended' | 'output broken' | 'message too large';

export interface LineTransportOptions {
  input: Readable;
  output: Writable;
  /** Maximum size of one message in bytes; a larger message ends the connection. */
  maxMessageBytes: number;
  /** Called with an error that `onmessage` throws, and the method of the message. */
  onDefect(error: unknown, operation: string): void;
}

/** A batch whose responses are sent together. */
interface Batch {
  pending: Set<RequestId>;
  responses: JSONRPCMessage[];
}

/**
 * A transport over a pair of streams, with one JSON-RPC message per line. Unlike the SDK's transport, it limits the
 * pending requests, answers invalid lines and batches, and answers pending requests after the input has ended.
 */
export class LineTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  /** Resolved with the reason when the input ends, the output fails, or a message exceeds the size limit. */
  readonly ended: Promise<EndReason>;
  readonly #options: LineTransportOptions;
  readonly #pending = new Set<RequestId>();
  readonly #batches = new Map<RequestId, Batch>();
  /** Emits `change` when a request is no longer pending, or the output is closed. */
  readonly #changes = new EventEmitter();
  #version: string | undefined;
  #isClosed = false;
  #end: (reason: EndReason) => void = () => {};

  constructor(options: LineTransportOptions) {
    this.#options = options;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    options.output.once('error', () => this.#end('output broken')).once('close', () => this.#changes.emit('change'));
  }

  async start(): Promise<void> {
    void this.#read();
  }

  /** Resolved when every received request has a response or was cancelled, or the output is closed. */
  async answered(): Promise<void> {
    await this.#until(() => this.#pending.size === 0);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const id = isJSONRPCResponse(message) ? message.id : undefined;
    const batch = id === undefined ? undefined : this.#batches.get(id);
    if (batch) batch.responses.push(message);
    else await this.#write(message);
    if (id !== undefined) await this.#complete(id);
  }

  setProtocolVersion(version: string): void {
    this.#version = version;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#options.input.destroy();
    this.onclose?.();
  }

  async #read(): Promise<void> {
    const { input, maxMessageBytes } = this.#options;
    for await (const line of readLines(input, maxMessageBytes)) {
      if (line === undefined) return this.#end('message too large');
      const initialize = await this.#receive(line);
      // The lines after `initialize` depend on the protocol version of its response.
      await this.#until(
        () => this.#pending.size < MAX_PENDING && (initialize === undefined || !this.#pending.has(initialize)),
      );
    }
    this.#end('input ended');
  }

  /** Receives one line. Returns the id of an `initialize` request. */
  async #receive(line: string): Promise<RequestId | undefined> {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      const error = { code: ProtocolErrorCode.ParseError, message: 'a line must be one JSON value' };
      await this.#write({ jsonrpc: '2.0', error });
      return undefined;
    }
    if (Array.isArray(value)) {
      await this.#receiveBatch(value);
      return undefined;
    }
    if (!isMessage(value)) {
      await this.#write(createInvalidRequest('a line must be one JSON-RPC 2.0 message', getRequestId(value)));
      return undefined;
    }
    await this.#deliver(value);
    return isJSONRPCRequest(value) && value.method === 'initialize' ? value.id : undefined;
  }

  async #receiveBatch(values: unknown[]): Promise<void> {
    const problem = findBatchProblem(values, this.#version);
    if (problem !== undefined) return this.#write(createInvalidRequest(problem));
    const messages = values as JSONRPCMessage[];
    const ids = messages.filter((message) => isJSONRPCRequest(message)).map(({ id }) => id);
    const batch: Batch = { pending: new Set(ids), responses: [] };
    for (const id of ids) this.#batches.set(id, batch);
    for (const message of messages) await this.#deliver(message);
  }

  async #deliver(message: JSONRPCMessage): Promise<void> {
    if (isJSONRPCRequest(message)) {
      const refused = getRefusedVersion(message);
      if (refused) return this.send({ jsonrpc: '2.0', id: message.id, error: refused });
      // A subscription has no response before the connection ends.
      if (message.method !== 'subscriptions/listen') this.#pending.add(message.id);
    }
    await this.#handle(message);
    if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled') {
      await this.#complete(message.params?.requestId as RequestId);
    }
  }

  /** Calls `onmessage`. Reports an error, and responds with it to a request. */
  async #handle(message: JSONRPCMessage): Promise<void> {
    try {
      this.onmessage?.(message);
    } catch (error) {
      this.#options.onDefect(error, 'method' in message ? message.method : 'response');
      if (isJSONRPCRequest(message)) await this.send({ jsonrpc: '2.0', id: message.id, error: SERVER_ERROR });
    }
  }

  /** Ends the wait for a response. Sends the responses of a batch when the last one is there. */
  async #complete(id: RequestId): Promise<void> {
    const batch = this.#batches.get(id);
    this.#batches.delete(id);
    if (batch?.pending.delete(id) && batch.pending.size === 0 && batch.responses.length > 0) {
      await this.#write(batch.responses);
    }
    this.#pending.delete(id);
    this.#changes.emit('change');
  }

  /** Waits until a condition on the pending requests holds, or the output is closed. */
  async #until(condition: () => boolean): Promise<void> {
    while (!condition() && !this.#options.output.destroyed) await once(this.#changes, 'change');
  }

  async #write(message: JSONRPCMessage | JSONRPCMessage[]): Promise<void> {
    const { output } = this.#options;
    if (this.#isClosed || output.destroyed) return;
    // Errors are ignored, because `ended` reports a broken output.
    await new Promise<void>((resolve) => output.write(`${JSON.stringify(message)}\n`, () => resolve()));
  }
}

/**
 * Returns the error of a request for a protocol revision that the server does not have. The SDK checks only the first
 * requests of a connection.
 */
function getRefusedVersion({ params }: JSONRPCRequest): { code: number; message: string; data: unknown } | undefined {
  const requested = params?._meta?.[PROTOCOL_VERSION_META_KEY];
  const supported: string[] = [...VERSIONS_WITHOUT_INITIALIZE];
  if (typeof requested !== 'string' || supported.includes(requested)) return undefined;
  const { code, message, data } = new UnsupportedProtocolVersionError({ supported, requested });
  return { code, message, data };
}

const LINE_FEED = 10;

/**
 * Yields the lines of a stream until it ends or breaks. Yields undefined at a line of more than `maxBytes`, and ends.
 */
async function* readLines(input: Readable, maxBytes: number): AsyncGenerator<string | undefined> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of readChunks(input)) {
    for (let start = 0; start < chunk.length; ) {
      const end = chunk.indexOf(LINE_FEED, start);
      const part = chunk.subarray(start, end === -1 ? chunk.length : end);
      parts.push(part);
      bytes += part.length;
      if (bytes > maxBytes) return yield undefined;
      start += part.length + 1;
      if (end === -1) continue;
      yield Buffer.concat(parts).toString();
      parts = [];
      bytes = 0;
    }
  }
}

/** Yields the chunks of a stream. A broken stream ends like a complete one, because its client is gone. */
async function* readChunks(input: Readable): AsyncGenerator<Buffer> {
  try {
    yield* input;
  } catch {
    // See above.
  }
}
