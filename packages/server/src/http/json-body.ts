import { type Check, createCheck, invalidRequest, MemoryError } from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/**
 * Parses request bodies as JSON in UTF-8, regardless of their content type, and refuses compressed bodies. An empty
 * body is treated as absent. Bodies of unknown routes are not parsed, so that those routes return NOT_FOUND. A route in
 * its own Fastify scope can replace the parser.
 */
export function readJsonBodies(app: FastifyInstance): void {
  // Removes Content-Type, because Fastify would reject a malformed Content-Type, or an empty body with a Content-Type.
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

/** Returns an error for a compressed body, since a few bytes could expand to fill the memory; otherwise `undefined`. */
function refuseEncoded({ raw: { headers } }: FastifyRequest): MemoryError | undefined {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (!hasBody || encoding === '' || encoding === 'identity') return undefined;
  return new MemoryError('UNSUPPORTED_MEDIA_TYPE', 'the body must have no Content-Encoding: send it uncompressed');
}

const decoder = new TextDecoder('utf-8', { fatal: true });

const NOT_JSON = 'body must be JSON in UTF-8';
const IS_LINES =
  'body must be one JSON value, but has one value per line; POST /store/batch and POST /import accept such lines, as ' +
  'Content-Type: application/x-ndjson';

/**
 * Parses JSON in UTF-8, with or without a byte order mark.
 *
 * @throws MemoryError INVALID_REQUEST
 */
export function parseJson(bytes: Buffer): unknown {
  const value = tryParseJson(bytes);
  if (value !== undefined) return value;
  throw invalidRequest([{ path: '', message: isJsonLines(bytes) ? IS_LINES : NOT_JSON }]);
}

/** Returns the value of a JSON text in UTF-8; undefined for any other bytes. */
export function tryParseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch {
    return undefined;
  }
}

/** Returns true if the first line is a JSON array or object, and more text follows. */
function isJsonLines(bytes: Buffer): boolean {
  const end = bytes.indexOf('\n');
  const first = end < 0 ? undefined : tryParseJson(bytes.subarray(0, end));
  return typeof first === 'object' && first !== null;
}

const checkEmpty: Check = createCheck(Type.Object({}, { additionalProperties: false }), 'body');

/** A hook for routes without a body: refuses any body except an empty body, `null` and `{}`. */
export function refuseBody(request: FastifyRequest, _reply: unknown, done: (error?: Error) => void): void {
  const hasBody = request.body !== undefined && request.body !== null;
  const details = hasBody ? checkEmpty(request.body) : [];
  const [first] = details;
  done(first && new MemoryError('INVALID_REQUEST', `this request takes no body: ${first.message}`, { details }));
}
