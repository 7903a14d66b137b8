import { randomUUID } from 'node:crypto';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { ERRORS, MemoryError } from '@memoryd/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type CountError, errorBody } from './errors.ts';
import { BARE_SECURITY_HEADERS } from './security-headers.ts';

/** Answers connections whose bytes are no HTTP request, or stop coming, in the shape of every other error. */
export class MalformedHttp {
  /** Answers that have begun, or whose requests have not come to their end, by their connection. */
  readonly #answers = new WeakMap<Socket, ServerResponse>();
  readonly #countError: CountError;

  constructor(countError: CountError = () => {}) {
    this.#countError = countError;
  }

  /** To be told of every request, as a connection on which an answer has begun gets no other. */
  expect({ raw }: FastifyRequest, reply: FastifyReply): void {
    this.#answers.set(raw.socket, reply.raw);
    reply.raw.once('close', () => raw.complete && this.#answers.delete(raw.socket));
  }

  /** Answers, where there is no answer yet, and closes the connection. */
  answer(error: Error & { code?: string }, socket: Socket): void {
    if (error.code === 'ECONNRESET' || !socket.writable) return;
    if (this.#answers.get(socket)?.headersSent) {
      socket.destroy();
      return;
    }
    const answer = malformedHttp(error.code);
    this.#countError(answer.code);
    const { status } = ERRORS[answer.code];
    const requestId = randomUUID();
    const body = JSON.stringify(errorBody(answer, requestId));
    const headers = {
      ...BARE_SECURITY_HEADERS,
      'X-Request-Id': requestId,
      Connection: 'close',
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
    };
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${body}`);
    // A peer that never closes its side must not hold the socket.
    setTimeout(() => socket.destroy(), 1000).unref();
  }
}

function malformedHttp(code: string | undefined): MemoryError {
  if (code === 'HPE_HEADER_OVERFLOW') return new MemoryError('PAYLOAD_TOO_LARGE', 'the URL and headers are too large');
  const message =
    code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'the request took too long to arrive' : 'malformed HTTP request';
  return new MemoryError('INVALID_REQUEST', message);
}
