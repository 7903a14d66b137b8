import { getLines, invalidRequest, LIMITS, MemoryError } from '@memoryd/contract';
import { type TSchema, Type } from '@memoryd/contract/typebox';
import type { FastifyRequest } from 'fastify';
import { readJsonElements } from '../imports/parsing/read-json.ts';
import { getMediaType } from './request-headers.ts';

/** The content type of bodies with one JSON value per line, as the OpenAPI document names it. */
export const NDJSON = 'application/x-ndjson';

/**
 * Content types of request bodies with one JSON value per line. The OpenAPI document lists the first and describes the
 * others, because a generator makes a function for each content type.
 */
export const NDJSON_TYPES = [NDJSON, 'application/ndjson', 'application/jsonl'];

/**
 * Returns the schema of a body with one JSON value per line, for the OpenAPI document. The whole body is a text and not
 * a JSON value, and OpenAPI 3.1 has no keyword for the lines of a text.
 *
 * @param name the name of the component of a line
 */
export function createLinesSchema(line: TSchema, name: string) {
  // Generated clients send and return a binary body as it is, and encode a text as JSON.
  return Type.Unsafe<string>({
    type: 'string',
    format: 'binary',
    description: `One \`${name}\` per line.`,
    'x-line-schema': line,
  });
}

/** Returns the bodies of a request that accepts a JSON array, or one item per line. JSON is first, so generators use it. */
export function createListContent(list: TSchema & { items: TSchema }, name: string) {
  const [listed = '', ...others] = NDJSON_TYPES;
  const description = `One \`${name}\` per line; ${others.join(' and ')} mean the same.`;
  return {
    'application/json': { schema: list },
    [listed]: { schema: { ...createLinesSchema(list.items, name), description } },
  };
}

/**
 * Yields the items of a streamed body: its lines, or with the content type `application/json`, the elements of an array
 * as they stand there. An element that cannot be read becomes an item that is no JSON, as a broken line is.
 *
 * @throws MemoryError PAYLOAD_TOO_LARGE for a line or an element above `LIMITS.exportLineBytes`; INVALID_REQUEST for JSON
 *   that is no array
 */
export function getItems(request: FastifyRequest, chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const maxBytes = LIMITS.exportLineBytes;
  return getMediaType(request) === 'application/json' ? getElements(chunks, maxBytes) : getLines(chunks, maxBytes);
}

const UNREADABLE = Buffer.from('unreadable');

async function* getElements(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncIterable<Uint8Array> {
  let isArray = false;
  for await (const found of readJsonElements(chunks, maxBytes)) {
    if ('value' in found) {
      // Nothing between two commas would pass for a blank line, which is skipped.
      yield found.value.length > 0 ? found.value : UNREADABLE;
    } else if (found.isTooLarge) {
      throw new MemoryError('PAYLOAD_TOO_LARGE', `item ${found.number} must be at most ${maxBytes} bytes`);
    } else if (found.place === '$' && !isArray) {
      throw invalidRequest([{ path: '', message: MUST_BE_ARRAY }]);
    } else {
      yield UNREADABLE;
    }
    isArray = true;
  }
}

const MUST_BE_ARRAY =
  'body must be a JSON array of items; send one item per line as Content-Type: application/x-ndjson instead';
