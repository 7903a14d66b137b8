import { escapePointer, invalidRequest, type MemoryError, restorePlus, TIME_PATTERN } from '@memoryd/contract';
import type { TSchema } from '@memoryd/contract/typebox';
import { decodeText } from '../text-values.ts';

/** The two forms of a metadata filter, `metadata.room=1` and `metadata[room]=1`, and misspelled forms. */
const METADATA_PARAMETER = /^metadata(?:$|\.(?<field>.*)$|\[(?<bracketed>.*)\]$|\[)/s;

/** Parameters that limit a request to one user or agent: absent, the request would concern all users or agents. */
export const OWNERS: ReadonlySet<string> = new Set(['user_id', 'agent_id']);

/**
 * Decodes a query string into values of the types in its schema. Only parameters of an array type may repeat; their
 * values become a list. `metadata.room=1` and `metadata[room]=1` become `metadata: {room: '1'}`. A parameter with an
 * empty value is absent, except `user_id` and `agent_id`. Unknown names are included, so that the schema's check
 * refuses them.
 *
 * @param raw the percent-encoded text after the question mark
 * @param refusesEmpty whether a parameter with an empty value is refused
 * @throws MemoryError INVALID_REQUEST for broken percent-encoding, bytes that are not UTF-8, repeated parameters,
 *   metadata filters of another form, and refused empty values
 */
export function decodeQuery(
  schema: TSchema,
  raw: string,
  { refusesEmpty = false }: { refusesEmpty?: boolean } = {},
): Record<string, unknown> {
  const properties = new Map(Object.entries((schema as { properties?: Record<string, TSchema> }).properties ?? {}));
  const values = new Map<string, unknown>();
  const metadata = new Map<string, unknown>();
  for (const [name, text] of getPairs(raw)) {
    const parameter = properties.has('metadata') && METADATA_PARAMETER.exec(name);
    const field = parameter ? getMetadataField(name, parameter) : undefined;
    const isEmpty = text === '' && (field !== undefined || properties.has(name));
    if (isEmpty) assertMayBeEmpty(name, refusesEmpty);
    else if (field !== undefined) setOnce(metadata, field, text, `metadata.${field}`);
    else add(values, name, text, properties.get(name));
  }
  if (metadata.size > 0) values.set('metadata', Object.fromEntries(metadata));
  return Object.fromEntries(values);
}

function add(values: Map<string, unknown>, name: string, text: string, property: TSchema | undefined): void {
  const items = (property as { items?: TSchema } | undefined)?.items;
  if (!items) {
    setOnce(values, name, property ? decodeValue(property, text) : text, name);
    return;
  }
  const list = (values.get(name) as unknown[] | undefined) ?? [];
  list.push(decodeValue(items, text));
  values.set(name, list);
}

function decodeValue(property: TSchema, text: string): unknown {
  return decodeText(property, isTime(property) ? restorePlus(text) : text);
}

function isTime(property: TSchema): boolean {
  return (property as { pattern?: string }).pattern === TIME_PATTERN;
}

/** Returns the name of the field in a metadata filter. Throws for a filter without a name, or with several names. */
function getMetadataField(name: string, { groups: { field, bracketed = '' } = {} }: RegExpExecArray): string {
  if (field) return field;
  if (bracketed !== '' && !bracketed.includes('][')) return bracketed;
  const form = 'metadata.room=1 or metadata[room]=1, with the name of one top-level metadata field';
  throw createParameterError(name, `a metadata filter must have the form ${form}`);
}

function setOnce(target: Map<string, unknown>, key: string, value: unknown, name: string): void {
  if (target.has(key)) throw createParameterError(name, `${name} must be given once`);
  target.set(key, value);
}

function assertMayBeEmpty(name: string, refusesEmpty: boolean): void {
  if (!refusesEmpty && !OWNERS.has(name)) return;
  throw createParameterError(name, `${name} must not be empty; give it a value, or leave it out`);
}

function createParameterError(name: string, message: string): MemoryError {
  return invalidRequest([{ path: `/${escapePointer(name)}`, message }]);
}

function* getPairs(raw: string): Generator<[name: string, text: string]> {
  for (const pair of raw.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    yield equals < 0 ? [decode(pair), ''] : [decode(pair.slice(0, equals)), decode(pair.slice(equals + 1))];
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw invalidRequest([{ path: '', message: 'query string must be percent-encoded UTF-8' }]);
  }
}
