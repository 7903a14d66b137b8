import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { invalidRequest } from '@memoryd/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { MalformedHttp } from './malformed-http.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route reads a body of any length with `getBodyChunks`, without a deadline for the whole body. */
    longBody?: true;
  }
}

/**
 * Refuses requests whose body is incomplete at a deadline, except on routes with `longBody`. Node's own request timeout
 * applies to all routes, and would cut off a large import.
 *
 * @param bodyMs deadline for a request body, in milliseconds
 */
export function limitBodyDuration(app: FastifyInstance, malformedHttp: MalformedHttp, bodyMs: number): void {
  const startDeadline = (request: IncomingMessage, response: ServerResponse) =>
    setDeadline(request, bodyMs, () => {
      // `request.destroy` also closes the connection, and works for an injected request, which has no connection.
      if (response.headersSent) request.destroy();
      else malformedHttp.respond(createTimeoutError(), request.socket);
    });
  const deadlines = new WeakMap<IncomingMessage, NodeJS.Timeout>();
  // A listener of the server, because the framework's hooks do not run for every request.
  app.server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    if (hasBody(request)) deadlines.set(request, startDeadline(request, response));
  });
  app.addHook('onRequest', ({ raw, routeOptions }, _reply, done) => {
    if (routeOptions.config.longBody) clearTimeout(deadlines.get(raw));
    done();
  });
  // After the response, the handler no longer reads the body. A new deadline gives the client time to receive the
  // response before the connection closes.
  app.addHook('onResponse', ({ raw, routeOptions }, reply, done) => {
    if (routeOptions.config.longBody && !raw.complete) startDeadline(raw, reply.raw);
    done();
  });
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/** Calls `onLate` if a request is incomplete after `bodyMs`. */
function setDeadline(request: IncomingMessage, bodyMs: number, onLate: () => void): NodeJS.Timeout {
  const timer = setTimeout(() => {
    if (!request.complete) onLate();
  }, bodyMs);
  request.once('close', () => clearTimeout(timer));
  return timer;
}

function createTimeoutError(): Error & { code: string } {
  return Object.assign(new Error('the request took too long to arrive'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
}

/** Minimum bytes of a body in `silentMs` of waiting, so that a client that sends a few bytes at a time holds no slot. */
const MIN_BYTES = 4096;

/**
 * Yields the chunks of a body of any length on demand. If the client stops sending, the connection closes after the
 * response, because the rest of the body could still follow.
 *
 * @param silentMs maximum time in which the service waits for a chunk, or for 4 KiB in several chunks, in milliseconds
 * @throws MemoryError INVALID_REQUEST if the client disconnects, or sends nothing or too slowly
 */
export async function* getBodyChunks(
  { body }: FastifyRequest,
  reply: FastifyReply,
  silentMs: number,
): AsyncIterable<Uint8Array> {
  if (!(body instanceof Readable)) return;
  // The stream stays open when iteration stops early, so that the client still gets a response.
  const chunks = body.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array>;
  try {
    for (let waitedMs = 0, bytes = 0; ; ) {
      // Only the time that the client takes counts, not the time until the next chunk is wanted.
      const startedAt = performance.now();
      const chunk = await getNext(chunks, silentMs - waitedMs);
      if (chunk.done) return;
      waitedMs += performance.now() - startedAt;
      bytes += chunk.value.length;
      if (bytes >= MIN_BYTES) waitedMs = bytes = 0;
      yield chunk.value;
    }
  } catch {
    reply.header('Connection', 'close');
    throw invalidRequest([
      { path: '', message: 'body must arrive whole, without long pauses and at more than a few bytes a second' },
    ]);
  } finally {
    // Many clients send the whole body before they read the response, so the rest must be drained. Not awaited: for a
    // silent body, `return` would wait for the next chunk.
    void chunks.return?.().then(() => body.resume());
  }
}

async function getNext(chunks: AsyncIterator<Uint8Array>, silentMs: number): Promise<IteratorResult<Uint8Array>> {
  let timer: NodeJS.Timeout | undefined;
  // The body is not destroyed on timeout, because destroying it would close the connection before the response is sent.
  const silence = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(createTimeoutError()), silentMs);
  });
  try {
    return await Promise.race([chunks.next(), silence]);
  } finally {
    clearTimeout(timer);
  }
}
