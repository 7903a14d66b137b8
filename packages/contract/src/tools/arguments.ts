import { requestTime } from '../field.ts';
import { TIME_PATTERN } from '../time.ts';
import type { TimeZone } from '../time-zone.ts';
import Type, { type TObject } from '../typebox.ts';
import { toZonedTime } from './local-times.ts';

/** The keywords of an argument's schema that this file uses. */
interface ArgumentSchema {
  type?: string;
  pattern?: string;
  items?: { type?: string };
  'x-edge'?: 'first' | 'last';
  'x-clearable'?: true;
  [keyword: string]: unknown;
}

/** A self-contained JSON Schema (2020-12) of an object. */
export interface ObjectSchema {
  type: 'object';
  properties: Record<string, object>;
  required?: string[];
  [keyword: string]: unknown;
}

/** Keywords that only `check` uses, because strict mode does not list them as supported, or to keep schemas short. */
const INTERNAL_KEYWORDS = ['minLength', 'maxLength', 'minProperties', 'pattern', 'default', 'examples'];

/** Returns the schema of a time in which a date without a time means the end of that day. */
export function lastTime(description: string) {
  return Type.String({ ...requestTime(description), 'x-edge': 'last' });
}

/** Marks an optional list that an empty list clears. In other optional arguments, an empty list means not given. */
export const CLEARABLE = { 'x-clearable': true } as const;

/**
 * Returns the schema of arguments for OpenAI's strict mode: every argument is required, and an optional argument is
 * nullable.
 *
 * @param schema an object without nested objects and unions
 */
export function toStrictSchema(schema: TObject): ObjectSchema {
  const { properties, required } = readArguments(schema);
  const fields = Object.entries(properties).map(([name, argument]) => {
    const { type, items, ...keywords } = toPlainSchema<ArgumentSchema>(argument, INTERNAL_KEYWORDS);
    const nullable = required.includes(name) ? type : [type, 'null'];
    return [name, { type: nullable, ...(items && { items: { type: items.type } }), ...keywords }];
  });
  return {
    type: 'object',
    properties: Object.fromEntries(fields),
    required: Object.keys(properties),
    additionalProperties: false,
  };
}

/** Removes keywords, and the `x-` keywords, which only error messages and reference pages use. */
export function toPlainSchema<Schema = ObjectSchema>(schema: object, keywords: readonly string[] = []): Schema {
  const isLeftOut = (key: string) => key.startsWith('x-') || keywords.includes(key);
  return JSON.parse(JSON.stringify(schema, (key, value) => (isLeftOut(key) ? undefined : value)));
}

/**
 * Returns the arguments that a model gave. Models that do not follow a schema strictly fill the place of an optional
 * argument with null, an empty string, an empty list (see `CLEARABLE`) or the word "null", and send numbers, booleans
 * and lists as JSON text. Times without an offset are in the zone of the user. Returns a value that is not an object unchanged.
 *
 * @param zone the zone of the user; if absent, times without an offset stay as they are
 */
export function toGivenArguments(schema: TObject, args: unknown, zone?: TimeZone): unknown {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return args;
  const { properties, required } = readArguments(schema);
  const fields = Object.entries(args).flatMap(([name, sent]) => {
    const argument = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (!argument) return [[name, sent]];
    const value = argument.type === 'string' ? sent : parseJsonText(sent);
    if (!required.includes(name) && isLeftOut(value, argument)) return [];
    const isTime = typeof value === 'string' && argument.pattern === TIME_PATTERN;
    return [[name, zone && isTime ? toZonedTime(value, zone, argument['x-edge']) : value]];
  });
  return Object.fromEntries(fields);
}

function readArguments(schema: object) {
  const { properties, required = [] } = schema as {
    properties: Record<string, ArgumentSchema>;
    required?: readonly string[];
  };
  return { properties, required };
}

function parseJsonText(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    // The check names the argument and its type.
    return value;
  }
}

function isLeftOut(value: unknown, argument: ArgumentSchema): boolean {
  if (Array.isArray(value)) return value.length === 0 && !argument['x-clearable'];
  return value === null || value === '' || value === 'null';
}
