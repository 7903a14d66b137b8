import { createCheck, NULL_MEANING, TIME_PATTERN } from '@memoryd/contract';
import type { TObject, TSchema } from '@memoryd/contract/typebox';
import { Option } from 'commander';
import type { Flags } from '../settings/read.ts';
import { decodeText } from '../text-values.ts';
import { UsageError } from '../usage-error.ts';
import { type TimeFlags, toInstant } from './local-time.ts';

/** A request type, and the fields that a command offers as options. */
export interface RequestShape<Request> {
  /** The schema in the contract. */
  schema: TObject;
  fields: readonly (keyof Request & string)[];
}

interface FieldSchema {
  type?: string;
  enum?: string[];
  anyOf?: TSchema[];
  pattern?: string;
  patternProperties?: Record<string, FieldSchema>;
  description?: string;
  default?: unknown;
  [NULL_MEANING]?: string;
}

/** The fields that select memories by the period in which they hold and by what was known, of every command that offers them. */
export const VALIDITY_FIELDS = ['current', 'as_of', 'known_at'] as const;

/** Option names of list fields, in the singular: such an option has one value, and can be repeated. */
const SINGULARS: Readonly<Record<string, string>> = { tags: 'tag' };

/** Descriptions of `--no-` flags, by field, because the contract describes the field when it is true. */
const NEGATIONS: Readonly<Record<string, string>> = {
  once: 'Do not remember what is given, and give again what the session was given.',
  superseded: 'Leave out superseded memories.',
  track:
    'Do not count this as a use of the returned memories: access counts, the query log, events and recall metrics ignore it.',
};

/** Returns an option for each field of the shape, with the name and description of the field in the contract. */
export function requestOptions<Request>({ schema, fields }: RequestShape<Request>): Option[] {
  return fields.map((field) => {
    const fieldSchema = getField(schema, field);
    const flag = getFlag(field);
    const option = new Option(
      fieldSchema.type === 'boolean' ? getSwitch(flag, fieldSchema) : `${flag} <${getValueName(field, fieldSchema)}>`,
      getDescription(field, fieldSchema),
    );
    if (fieldSchema.enum) option.choices(fieldSchema.enum);
    return isRepeatable(fieldSchema) ? option.argParser(append) : option;
  });
}

/**
 * Builds a request from options and arguments.
 *
 * @param given fields that the arguments of the command contain
 * @throws UsageError that names the option, for a value that the contract refuses
 */
export function getRequest<Request>(shape: RequestShape<Request>, flags: Flags, given: object = {}): Request {
  const request = { ...optionsGiven(shape, flags), ...given };
  const [problem] = createCheck(shape.schema, 'request')(request);
  if (problem) throw new UsageError(nameOption(problem.message, shape.fields));
  return request as Request;
}

/**
 * Returns the request fields that options set, not yet checked against the contract. Omits booleans that have their
 * default value. Throws a UsageError for a `name=value` option without `=`.
 */
export function optionsGiven<Request>({ schema, fields }: RequestShape<Request>, flags: Flags): Partial<Request> {
  const given = fields
    .map((field) => [field, flags[getKey(field)]] as const)
    .filter(([field, value]) => {
      return value !== undefined && !(typeof value === 'boolean' && value === getField(schema, field).default);
    });
  return Object.fromEntries(
    given.map(([field, value]) => [field, toValue(field, getField(schema, field), value, flags as TimeFlags)]),
  ) as Partial<Request>;
}

/** Returns the schema of a field. For a nullable field, returns the schema of its non-null values. */
function getField(schema: TObject, field: string): FieldSchema {
  const fieldSchema = schema.properties[field] as FieldSchema;
  const [valueSchema] = (fieldSchema.anyOf ?? []) as FieldSchema[];
  return valueSchema ? { ...valueSchema, ...fieldSchema } : fieldSchema;
}

/**
 * Returns the flag of a boolean field. A field that is true by default has a `--no-` flag, which sets the field to
 * false.
 */
function getSwitch(flag: string, { default: defaultValue }: FieldSchema): string {
  return defaultValue === true ? flag.replace('--', '--no-') : flag;
}

function getFlag(field: string): string {
  return `--${(SINGULARS[field] ?? field).replaceAll('_', '-')}`;
}

/** Returns the key under which commander stores the option of a field. */
function getKey(field: string): string {
  return (SINGULARS[field] ?? field).replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

function isRepeatable(schema: FieldSchema): boolean {
  return schema.type === 'array' || hasAnyNames(schema);
}

/** Returns whether a field is an object with names of the caller's choice, each of which is an option value. */
function hasAnyNames({ type, patternProperties }: FieldSchema): boolean {
  return type === 'object' && patternProperties !== undefined;
}

function append(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value];
}

function getValueName(field: string, schema: FieldSchema): string {
  const { type, enum: choices } = schema;
  if (choices) return choices.join('|');
  if (type === 'object') return hasAnyNames(schema) ? 'name=value' : 'json';
  if (type === 'integer' || type === 'number') return 'number';
  if (isTime(schema)) return 'time';
  return field.endsWith('id') || field === 'supersedes' ? 'id' : 'text';
}

/** Returns true if null clears a field. Only then does the option value `null` mean null instead of a text. */
function isClearedByNull({ anyOf = [], [NULL_MEANING]: meaning }: FieldSchema): boolean {
  return meaning === undefined && (anyOf as FieldSchema[]).some(({ type }) => type === 'null');
}

function getDescription(field: string, schema: FieldSchema): string {
  const { description = '', default: defaultValue } = schema;
  if (isTime(schema)) return getTimeDescription(field, description);
  if (defaultValue === true) return getNegation(field);
  const one = hasAnyNames(schema) ? ' Takes one field and its value.' : '';
  const repeatable = isRepeatable(schema) ? ' Can be repeated.' : '';
  const hasDefault = defaultValue !== undefined && typeof defaultValue !== 'boolean';
  return `${description.replaceAll('`', '')}${one}${repeatable}${hasDefault ? ` Default: ${defaultValue}.` : ''}`;
}

function getNegation(field: string): string {
  const negation = NEGATIONS[field];
  if (negation === undefined) throw new Error(`the option --no-${field} needs a description in NEGATIONS`);
  return negation;
}

function isTime({ pattern }: FieldSchema): boolean {
  return pattern === TIME_PATTERN;
}

/** The instant of a day that a date without a time means in a field. The same as in the contract. */
function getEdge(field: string): 'first' | 'last' {
  return field === 'until' ? 'last' : 'first';
}

/** Replaces the sentence about dates without a time, which a command reads in local time instead of UTC. */
function getTimeDescription(field: string, description: string): string {
  const start = description.replaceAll('`', '').replace(/ A date without a time means [^.]*\./, '');
  return `${start} A date alone means the ${getEdge(field) === 'last' ? 'end' : 'start'} of that local day.`;
}

function toValue(field: string, schema: FieldSchema, value: unknown, flags: TimeFlags): unknown {
  if (hasAnyNames(schema)) return parsePairs(field, value as string[], hasTextValues(schema));
  if (isClearedByNull(schema) && value === 'null') return null;
  if (isTime(schema) && typeof value === 'string') return toInstant(value, getEdge(field), flags);
  return typeof value === 'string' ? decodeText(schema as TSchema, value) : value;
}

/** Returns whether all values of an object are texts. */
function hasTextValues({ patternProperties = {} }: FieldSchema): boolean {
  return Object.values(patternProperties).some(({ type }) => type === 'string');
}

function parsePairs(field: string, pairs: readonly string[], asTexts: boolean): Record<string, unknown> {
  const entries = pairs.map((pair) => {
    const at = pair.indexOf('=');
    if (at < 1) throw new UsageError(`--${field} must be a name and a value with = between them, such as room=1`);
    const value = pair.slice(at + 1);
    return [pair.slice(0, at), asTexts ? value : parseJson(value)] as const;
  });
  return Object.fromEntries(entries);
}

/** Parses canonical JSON other than a string, such as `7`, `true` or `{"a":1}`. Returns any other text unchanged. */
function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value !== 'string' && JSON.stringify(value) === text ? value : text;
  } catch {
    return text;
  }
}

/** Returns the message of an error with the option of the field that it begins with, if the field is one of `fields`. */
export function nameOption(message: string, fields: readonly string[]): string {
  const field = /^\w+/.exec(message)?.[0] ?? '';
  if (!fields.includes(field)) return message;
  return message.replace(field, getFlag(field));
}
