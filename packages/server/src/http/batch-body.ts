import { invalidRequest, isBlankLine, LIMITS, type MemoryError } from '@memoryd/contract';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { parseJson, tryParseJson } from './json-body.ts';
import { NDJSON_TYPES } from './lines-body.ts';
import { getMediaType } from './request-headers.ts';

/**
 * Parses the bodies of all routes in a Fastify scope: for an NDJSON content type as a list with one JSON value per
 * line, else as one JSON text. A line that is not JSON in UTF-8 becomes `undefined`, which every schema refuses, so
 * that only this item fails.
 */
export function readBatchBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    try {
      done(null, isNdjson(request) ? parseLines(body) : parseJson(body));
    } catch (error) {
      done(error as Error);
    }
  });
  // An empty body is not valid JSON, but is valid NDJSON without lines.
  scope.addHook('preValidation', (request, _reply, done) => {
    if (request.body === undefined && isNdjson(request)) request.body = [];
    done();
  });
}

function isNdjson(request: FastifyRequest): boolean {
  return NDJSON_TYPES.includes(getMediaType(request));
}

const LINE_END = 0x0a;

function parseLines(body: Buffer): unknown[] {
  const items: unknown[] = [];
  let lines = 0;
  for (let at = 0; at < body.length; lines++) {
    // The limit includes empty lines; otherwise, the time to parse a body of empty lines would grow with its size.
    if (lines === LIMITS.batchItems) throw tooManyLines();
    const found = body.indexOf(LINE_END, at);
    const end = found < 0 ? body.length : found;
    const line = body.subarray(at, end);
    if (!isBlankLine(line)) items.push(tryParseJson(line));
    at = end + 1;
  }
  return items;
}

function tooManyLines(): MemoryError {
  return invalidRequest([{ path: '', message: `body must have at most ${LIMITS.batchItems} lines` }]);
}
