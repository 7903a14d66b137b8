import { getLines, invalidRequest, LIMITS, MemoryError } from '@memoryd/contract';
import { type TSchema, Type } from '@memoryd/contract/typebox';
import type { FastifyRequest } from 'fastify';
import { type FoundValue, readJsonElements } from '../imports/parsing/read-json.ts';
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

/** The description of an import of a JSON array whose rest cannot be read. */
export const BROKEN_ARRAY =
  'If the rest of a JSON array cannot be read, for example after a missing quotation mark or bracket, the import ends with ' +
  'an error; the items before stay stored.';

/**
 * Yields the items of a streamed body: its lines, or with the content type `application/json`, the text of each element of
 * an array. An element that cannot be read becomes an item that is not JSON, like a broken line.
 *
 * @throws MemoryError PAYLOAD_TOO_LARGE for a line or an element above `LIMITS.exportLineBytes`; INVALID_REQUEST for JSON
 *   that is not an array, and after the last readable element of an array whose rest cannot be read
 */
export function getItems(request: FastifyRequest, chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const maxBytes = LIMITS.exportLineBytes;
  return getMediaType(request) === 'application/json' ? getElements(chunks, maxBytes) : getLines(chunks, maxBytes);
}

const UNREADABLE = Buffer.from('unreadable');

async function* getElements(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncIterable<Uint8Array> {
  let count = 0;
  let isEmpty = false;
  for await (const found of readJsonElements(chunks, maxBytes)) {
    // An empty element (`[1,,2]`) must be refused here: as a blank line it would be skipped.
    if (isEmpty) yield UNREADABLE;
    isEmpty = 'value' in found && found.value.length === 0;
    if (!isEmpty) yield toItem(found, count, maxBytes);
    count = found.number;
  }
  if (isEmpty) throw brokenAfter(count - 1, 'a comma must not follow the last item');
}

/** @param count number of items before this one */
function toItem(found: FoundValue<Buffer>, count: number, maxBytes: number): Buffer {
  if ('value' in found) return found.value;
  if (found.isTooLarge)
    throw new MemoryError('PAYLOAD_TOO_LARGE', `item ${found.number} must be at most ${maxBytes} bytes`);
  if (!found.isBroken) return UNREADABLE;
  const isArray = count > 0 || found.place !== '$';
  throw isArray ? brokenAfter(count, found.refused) : invalidRequest([{ path: '', message: MUST_BE_ARRAY }]);
}

function brokenAfter(count: number, reason: string): MemoryError {
  return invalidRequest([{ path: '', message: `the JSON array cannot be read after item ${count}: ${reason}` }]);
}

const MUST_BE_ARRAY =
  'body must be a JSON array of items; send one item per line as Content-Type: application/x-ndjson instead';
