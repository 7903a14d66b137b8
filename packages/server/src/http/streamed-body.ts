import type { FastifyReply, FastifyRequest } from 'fastify';
import { onAccessRevoked } from './access-revocation.ts';
import { getBodyChunks } from './body-deadline.ts';
import type { App, RouteContext } from './routes/route.ts';

/** Registers routes whose bodies are streamed, regardless of their content type. */
export function registerStreamed(app: App, register: (scope: App) => void): void {
  // A separate Fastify scope, because content types are parsed by scope.
  app.register(async (scope: App) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    register(scope);
  });
}

/**
 * Yields the chunks of a streamed body on demand. Throws the reason if the caller loses its access meanwhile, and
 * INVALID_REQUEST if the client disconnects or sends nothing for too long.
 */
export async function* getStreamedBody(
  request: FastifyRequest,
  reply: FastifyReply,
  { gate, settings }: Pick<RouteContext, 'gate' | 'settings'>,
): AsyncIterable<Uint8Array> {
  const revocation = new AbortController();
  onAccessRevoked(gate, request, reply, (error) => revocation.abort(error));
  yield* untilAborted(revocation.signal, getBodyChunks(request, reply, settings.slowClientSeconds * 1000));
}

/** Yields the chunks. Throws the signal's reason if the signal is aborted before the end of the chunks. */
export async function* untilAborted(signal: AbortSignal, chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  for await (const chunk of chunks) {
    signal.throwIfAborted();
    yield chunk;
  }
  signal.throwIfAborted();
}
