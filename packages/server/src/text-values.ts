import type { TSchema } from '@memoryd/contract/typebox';

const INTEGER = /^-?(0|[1-9][0-9]*)$/;
/** As JSON writes it. */
const NUMBER = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/;

/**
 * The value that a text writes, by the type its schema names. A text that does not write such a value in its plain
 * form (`5.0` and `1e1` for an integer, ` 5`, nothing) comes back as it is, for the schema's check to refuse.
 */
export function decodeText(schema: TSchema, text: string): unknown {
  switch ((schema as { type?: string }).type) {
    case 'integer':
      return INTEGER.test(text) ? Number(text) : text;
    case 'number':
      return NUMBER.test(text) ? Number(text) : text;
    case 'boolean':
      return text === 'true' || text === 'false' ? text === 'true' : text;
    default:
      return text;
  }
}
