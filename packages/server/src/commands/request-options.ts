import { createCheck } from '@memoryd/contract';
import type { TObject, TSchema } from '@memoryd/contract/typebox';
import { Option } from 'commander';
import type { Flags } from '../settings/read.ts';
import { decodeText } from '../text-values.ts';
import { UsageError } from '../usage-error.ts';

/** What a command asks of the `MemoryApi`, and the fields of it that have an option. */
export interface RequestShape<Request> {
  /** The schema in the contract. */
  schema: TObject;
  fields: readonly (keyof Request & string)[];
}

interface FieldSchema {
  type?: string;
  enum?: string[];
  anyOf?: TSchema[];
  patternProperties?: Record<string, FieldSchema>;
  description?: string;
  default?: unknown;
}

/** Fields of several values have an option for one, given several times. */
const SINGULARS: Readonly<Record<string, string>> = { tags: 'tag' };

/** The options of a request: of each field, under its name, what the contract says of it. */
export function requestOptions<Request>({ schema, fields }: RequestShape<Request>): Option[] {
  return fields.map((field) => {
    const of = getField(schema, field);
    const flag = getFlag(field);
    const option = new Option(
      of.type === 'boolean' ? getSwitch(flag, of) : `${flag} <${valueName(field, of)}>`,
      getDescription(of),
    );
    if (of.enum) option.choices(of.enum);
    return isSeveral(of) ? option.argParser(gather) : option;
  });
}

/**
 * The request that options and arguments make.
 *
 * @param given fields that arguments gave
 * @throws UsageError for what the contract refuses, naming the option
 */
export function getRequest<Request>(shape: RequestShape<Request>, flags: Flags, given: object = {}): Request {
  const request = { ...optionsGiven(shape, flags), ...given };
  const [wrong] = createCheck(shape.schema, 'what is asked for')(request);
  if (wrong) throw new UsageError(namedAsOption(wrong.message, shape.fields));
  return request as Request;
}

/** The fields of a request that options gave, not yet checked. */
export function optionsGiven<Request>({ schema, fields }: RequestShape<Request>, flags: Flags): Partial<Request> {
  const given = fields
    .map((field) => [field, flags[getKey(field)]] as const)
    .filter(([field, value]) => {
      return value !== undefined && !(typeof value === 'boolean' && value === getField(schema, field).default);
    });
  return Object.fromEntries(
    given.map(([field, value]) => [field, givenValue(field, getField(schema, field), value)]),
  ) as Partial<Request>;
}

/** Returns the schema of a field. Where null may be given too, the schema is that of the other values. */
function getField(schema: TObject, field: string): FieldSchema {
  const of = schema.properties[field] as FieldSchema;
  const [valued] = (of.anyOf ?? []) as FieldSchema[];
  return valued ? { ...valued, ...of } : of;
}

/** A field that is true by default has an option that makes it false. */
function getSwitch(flag: string, { default: by }: FieldSchema): string {
  return by === true ? flag.replace('--', '--no-') : flag;
}

function getFlag(field: string): string {
  return `--${(SINGULARS[field] ?? field).replaceAll('_', '-')}`;
}

/** The key under which commander keeps the option of a field. */
function getKey(field: string): string {
  return (SINGULARS[field] ?? field).replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

function isSeveral({ type }: FieldSchema): boolean {
  return type === 'array' || type === 'object';
}

function gather(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value];
}

function valueName(field: string, { type, enum: choices }: FieldSchema): string {
  if (choices) return choices.join('|');
  if (type === 'object') return 'name=value';
  if (type === 'integer' || type === 'number') return 'number';
  if (/_at$|^as_of$|^(since|until|before)$/.test(field)) return 'time';
  return field.endsWith('id') || field === 'supersedes' ? 'id' : 'text';
}

/** Whether null clears a field; in other fields it only means that the field is absent. */
function isClearedByNull({ description = '' }: FieldSchema): boolean {
  return description.endsWith('null clears it.');
}

function getDescription(of: FieldSchema): string {
  const { description = '', default: by, type } = of;
  const one = type === 'object' ? ' Here one field of it and its value.' : '';
  const several = type === 'array' || type === 'object' ? ' May be given several times.' : '';
  const otherwise = by === undefined || typeof by === 'boolean' ? '' : ` Default: ${by}.`;
  return `${description.replaceAll('`', '')}${one}${several}${otherwise}`;
}

function givenValue(field: string, of: FieldSchema, value: unknown): unknown {
  if (of.type === 'object') return getPairs(field, value as string[], holdsTexts(of));
  if (isClearedByNull(of) && value === 'null') return null;
  return typeof value === 'string' ? decodeText(of as TSchema, value) : value;
}

/** Whether all values of an object are texts. */
function holdsTexts({ patternProperties = {} }: FieldSchema): boolean {
  return Object.values(patternProperties).some(({ type }) => type === 'string');
}

function getPairs(field: string, pairs: readonly string[], asTexts: boolean): Record<string, unknown> {
  const entries = pairs.map((pair) => {
    const at = pair.indexOf('=');
    if (at < 1) throw new UsageError(`--${field} must be a name and a value with = between them`);
    const value = pair.slice(at + 1);
    return [pair.slice(0, at), asTexts ? value : jsonOr(value)] as const;
  });
  return Object.fromEntries(entries);
}

/** What a text writes in JSON as JSON writes it, such as `7`, `true` or `{"a":1}`; any other text is itself. */
function jsonOr(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value !== 'string' && JSON.stringify(value) === text ? value : text;
  } catch {
    return text;
  }
}

function namedAsOption(message: string, fields: readonly string[]): string {
  const field = /^\w+/.exec(message)?.[0] ?? '';
  if (!fields.includes(field)) return message;
  return message.replace(field, getFlag(field));
}
