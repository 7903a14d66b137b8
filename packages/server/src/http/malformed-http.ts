import { randomUUID } from 'node:crypto';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { ERRORS, MemoryError } from '@memoryd/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type CountError, errorBody } from './errors.ts';
import { BARE_SECURITY_HEADERS } from './security-headers.ts';

/** Sends the standard error response on connections with malformed HTTP or an incomplete request. */
export class MalformedHttp {
  /** The latest response of each connection, until the response is closed and its request is complete. */
  readonly #responses = new WeakMap<Socket, ServerResponse>();
  readonly #countError: CountError;

  constructor(countError: CountError = () => {}) {
    this.#countError = countError;
  }

  /**
   * Tracks the response of a request. Must be called for every request, because no error response may be sent on a
   * connection whose response has begun.
   */
  track({ raw }: FastifyRequest, reply: FastifyReply): void {
    this.#responses.set(raw.socket, reply.raw);
    reply.raw.once('close', () => raw.complete && this.#responses.delete(raw.socket));
  }

  /** Sends an error response, unless a response has begun, and closes the connection. */
  respond(error: Error & { code?: string }, socket: Socket): void {
    if (error.code === 'ECONNRESET' || !socket.writable) return;
    if (this.#responses.get(socket)?.headersSent) {
      socket.destroy();
      return;
    }
    this.#end(socket, toMemoryError(error.code));
  }

  /**
   * Refuses a CONNECT request, which Node passes on without a response object, and closes the connection.
   *
   * @param allowed the methods of the requested path
   */
  refuseConnect(socket: Socket, allowed: readonly string[]): void {
    // Without a listener, an error of the socket would end the process.
    socket.on('error', () => socket.destroy());
    const message = 'CONNECT is not supported, because memoryd is not a proxy; send the request without a proxy';
    this.#end(socket, new MemoryError('METHOD_NOT_ALLOWED', message), { Allow: allowed.join(', ') });
  }

  #end(socket: Socket, error: MemoryError, moreHeaders: Record<string, string> = {}): void {
    this.#countError(error.code);
    const { status } = ERRORS[error.code];
    const requestId = randomUUID();
    const body = JSON.stringify(errorBody(error, requestId));
    const headers = {
      ...moreHeaders,
      ...BARE_SECURITY_HEADERS,
      'X-Request-Id': requestId,
      Connection: 'close',
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
    };
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${body}`);
    // A peer that never closes its side must not keep the socket open.
    setTimeout(() => socket.destroy(), 1000).unref();
  }
}

function toMemoryError(code: string | undefined): MemoryError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new MemoryError('PAYLOAD_TOO_LARGE', 'the URL and headers are too large; shorten them');
  return new MemoryError('INVALID_REQUEST', MESSAGES[code ?? ''] ?? 'malformed HTTP request');
}

const MESSAGES: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'the request took too long to arrive; send the request without pauses',
  HPE_PAUSED_H2_UPGRADE: 'HTTP/2 is not supported; use HTTP/1.1',
  HPE_INVALID_METHOD: 'unknown method; use a method of HTTP in upper case, such as GET or POST',
};
