import type { TSchema } from '@memoryd/contract/typebox';

const INTEGER = /^-?(0|[1-9][0-9]*)$/;
/** The number syntax of JSON. */
const NUMBER = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * Parses a text into a value of the type in the schema. Returns the text unchanged if it is not in the plain form of
 * that type (such as `5.0` or `1e1` for an integer, ` 5`, or an empty text), so that the schema's check refuses it.
 */
export function decodeText(schema: TSchema, text: string): unknown {
  switch ((schema as { type?: string }).type) {
    case 'integer':
      return INTEGER.test(text) ? Number(text) : text;
    case 'number':
      return NUMBER.test(text) ? Number(text) : text;
    case 'object':
      return parseJson(text);
    case 'boolean':
      return text === 'true' || text === 'false' ? text === 'true' : text;
    default:
      return text;
  }
}
