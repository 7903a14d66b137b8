import { type TSchema, Type } from '@memoryd/contract/typebox';

/** The content type of responses with one JSON value per line. */
export const NDJSON = 'application/x-ndjson';

/** Content types of request bodies with one JSON value per line. */
export const NDJSON_TYPES = [NDJSON, 'application/ndjson', 'application/jsonl'];

/** The field of a schema of a whole body, for the schema of one line. */
export const LINE_SCHEMA = 'x-line-schema';

/**
 * Returns the schema of a body with one JSON value per line, for the OpenAPI document. The whole body is a text and not
 * a JSON value, and OpenAPI 3.1 has no keyword for the lines of a text.
 *
 * @param name the name of the component of a line
 */
export function createLinesSchema(line: TSchema, name: string) {
  return Type.Unsafe<string>({ type: 'string', description: `One \`${name}\` per line.`, [LINE_SCHEMA]: line });
}

/** Returns the bodies of a request that accepts a JSON array, or one item per line. JSON is first, so generators use it. */
export function createListContent(list: TSchema & { items: TSchema }, name: string) {
  const lines = { schema: createLinesSchema(list.items, name) };
  return {
    'application/json': { schema: list },
    ...Object.fromEntries(NDJSON_TYPES.map((type) => [type, lines])),
  };
}
