import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { invalidRequest } from '@memoryd/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { MalformedHttp } from './malformed-http.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route reads a body of any length, by `getPieces`. */
    longBody?: true;
  }
}

/**
 * Cuts off requests whose bodies do not arrive in time. Node's own limit is the same for all routes, and would end an
 * import of many memories.
 *
 * @param bodyMs how long the body of a request may take to arrive
 */
export function limitBodyTime(app: FastifyInstance, malformedHttp: MalformedHttp, bodyMs: number): void {
  const cutLate = (request: IncomingMessage, response: ServerResponse) =>
    setLimit(request, bodyMs, () => {
      // With its connection, where it came by one: an injected request has none.
      if (response.headersSent) request.destroy();
      else malformedHttp.answer(requestTimeout(), request.socket);
    });
  const deadlines = new WeakMap<IncomingMessage, NodeJS.Timeout>();
  // Before the framework, which does not tell its hooks of every request.
  app.server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    if (hasBody(request)) deadlines.set(request, cutLate(request, response));
  });
  app.addHook('onRequest', ({ raw, routeOptions }, _reply, done) => {
    if (routeOptions.config.longBody) clearTimeout(deadlines.get(raw));
    done();
  });
  // What has been answered is not read on, and yet its client is to have the answer.
  app.addHook('onResponse', ({ raw, routeOptions }, reply, done) => {
    if (routeOptions.config.longBody && !raw.complete) cutLate(raw, reply.raw);
    done();
  });
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/** Calls back unless a request has arrived by then. */
function setLimit(request: IncomingMessage, bodyMs: number, late: () => void): NodeJS.Timeout {
  const timer = setTimeout(() => {
    if (!request.complete) late();
  }, bodyMs);
  request.once('close', () => clearTimeout(timer));
  return timer;
}

function requestTimeout(): Error & { code: string } {
  return Object.assign(new Error('the request took too long to arrive'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
}

/**
 * The pieces of a body of any length, as they are asked for. Where they stop coming, the answer is the last of its
 * connection, as nobody can tell whether the rest comes yet.
 *
 * @param silentMs how long it may be silent
 * @throws MemoryError INVALID_REQUEST when its client has gone, or sends nothing for too long
 */
export async function* getPieces(
  { body }: FastifyRequest,
  reply: FastifyReply,
  silentMs: number,
): AsyncIterable<Uint8Array> {
  if (!(body instanceof Readable)) return;
  // It goes on being open when it is left, so that its client gets an answer.
  const pieces = body.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array>;
  try {
    for (;;) {
      const piece = await getNext(pieces, silentMs);
      if (piece.done) return;
      yield piece.value;
    }
  } catch {
    reply.header('Connection', 'close');
    throw invalidRequest([{ path: '', message: 'body must arrive whole, without long pauses' }]);
  } finally {
    // A client sends to the end before it reads the answer, unless what it sends is thrown away. Leaving a silent body
    // would wait for its next piece.
    void pieces.return?.().then(() => body.resume());
  }
}

async function getNext(pieces: AsyncIterator<Uint8Array>, silentMs: number): Promise<IteratorResult<Uint8Array>> {
  let late: NodeJS.Timeout | undefined;
  // The body stays as it is: destroying it would take the connection from under the answer.
  const silence = new Promise<never>((_resolve, reject) => {
    late = setTimeout(() => reject(requestTimeout()), silentMs);
  });
  try {
    return await Promise.race([pieces.next(), silence]);
  } finally {
    clearTimeout(late);
  }
}
