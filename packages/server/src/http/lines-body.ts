import { type TSchema, Type } from '@memoryd/contract/typebox';

/** The content type of responses with one JSON value per line. */
export const NDJSON = 'application/x-ndjson';

/** Content types of request bodies with one JSON value per line. */
export const NDJSON_TYPES = [NDJSON, 'application/ndjson', 'application/jsonl'];

/**
 * Returns the schema of a body with one JSON value per line. The whole body is text and no JSON value, so the schema is
 * that of a file; OpenAPI 3.1 has no keyword for a line, and `x-line-schema` names its schema.
 */
export function createLinesSchema(line: TSchema, description: string) {
  return Type.Unsafe<string>({ type: 'string', format: 'binary', description, 'x-line-schema': line });
}

/** Returns the bodies of a request that accepts an array of JSON values, or one value per line. */
export function createListContent(item: TSchema, list: TSchema, description: string) {
  const lines = { schema: createLinesSchema(item, description) };
  return {
    'application/json': { schema: list },
    ...Object.fromEntries(NDJSON_TYPES.map((type) => [type, lines])),
  };
}
