import { type Check, createCheck, invalidRequest, MemoryError } from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/**
 * Makes every request body be read as JSON in UTF-8, whatever its content type says. An empty body is no body.
 * Bodies of unknown routes are not looked at, so that those answer NOT_FOUND.
 */
export function readJsonBodies(app: FastifyInstance): void {
  // Without the header the framework neither refuses a malformed content type nor an empty body of a named one.
  app.addHook('onRequest', (request, _reply, done) => {
    delete request.raw.headers['content-type'];
    done(request.is404 ? undefined : refuseEncoded(request));
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    if (body.length === 0 || request.is404) return done(null, undefined);
    try {
      done(null, parseJson(body));
    } catch (error) {
      done(error as Error);
    }
  });
}

/** The error for a body that is compressed, which a few bytes would make as large as memory; undefined for any other. */
function refuseEncoded({ raw: { headers } }: FastifyRequest): MemoryError | undefined {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (!hasBody || encoding === '' || encoding === 'identity') return undefined;
  return new MemoryError('UNSUPPORTED_MEDIA_TYPE', 'the body must have no Content-Encoding: send it uncompressed');
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** The value that bytes of JSON in UTF-8 write, a byte order mark before it or not; INVALID_REQUEST for others. */
export function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch {
    throw invalidRequest([{ path: '', message: 'body must be JSON in UTF-8' }]);
  }
}

const checkEmpty: Check = createCheck(Type.Object({}, { additionalProperties: false }), 'body');

/** A handler step for routes that take no body: refuses one that says anything. Nothing and `{}` pass. */
export function refuseBody(request: FastifyRequest, _reply: unknown, done: (error?: Error) => void): void {
  const details = request.body === undefined ? [] : checkEmpty(request.body);
  const [first] = details;
  done(first && new MemoryError('INVALID_REQUEST', `this request takes no body: ${first.message}`, { details }));
}
