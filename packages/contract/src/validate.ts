import type { ErrorDetail } from './error-body.ts';
import { MemoryError } from './errors.ts';
import { METADATA_MUST } from './field.ts';
import { LIMITS } from './limits.ts';
import { parseTime, TIME_MUST, TIME_PATTERN } from './time.ts';
import type { TSchema } from './typebox.ts';
import { Compile } from './typebox.ts';

/** Answers what is wrong with a value, a sentence for each field; nothing wrong is an empty list. */
export type Check = (value: unknown) => ErrorDetail[];

/**
 * The check of a schema. Beyond the schema it refuses strings that cannot be kept byte for byte (U+0000 and lone
 * surrogates, which UTF-8 does not have), times that no calendar has, and metadata that is too large or too deep.
 *
 * @param what names the value as a whole in messages, such as "body"
 * @param ids fields that name what there may be: a string that cannot be kept is none of them, and found by nobody
 */
export function createCheck(schema: TSchema, what: string, ids: readonly string[] = []): Check {
  const compiled = Compile(schema);
  // A filter names metadata too, and may be larger than what it looks for.
  const keepsMetadata = must(schema, 'metadata') === METADATA_MUST;
  const times = getTimeFields(schema);
  return (value) => {
    if (compiled.Check(value)) return [...checkStrings(value, what, ids, keepsMetadata), ...checkTimes(value, times)];
    const byField = new Map<string, ErrorDetail>();
    for (const error of compiled.Errors(getBeginning(value, schema))) {
      for (const detail of toDetails(schema, error, what)) {
        const field = detail.path.split('/')[1] ?? '';
        if (!byField.has(field)) byField.set(field, detail);
      }
    }
    return byField.size > 0 ? [...byField.values()] : [sentence('', `${what} must`, 'follow the schema')];
  };
}

/** Fields that no schema knows, and items of a list of no greatest length, that are looked at to tell what is wrong. */
const TOLD_UNKNOWN_FIELDS = 10;
const TOLD_ITEMS = 1000;

/**
 * As much of a value as tells what is wrong with it. To tell it takes thousands of times as long as to refuse it, and a
 * client may send millions of what is refused.
 */
function getBeginning(value: unknown, schema: TSchema): unknown {
  if (Array.isArray(value)) return value.slice(0, ((schema as { maxItems?: number }).maxItems ?? TOLD_ITEMS) + 1);
  if (typeof value !== 'object' || value === null) return value;
  const known = (schema as { properties?: Record<string, TSchema> }).properties;
  if (!known) return value;
  const told: [field: string, of: unknown][] = [];
  let unknown = 0;
  for (const [field, of] of Object.entries(value)) {
    if (Object.hasOwn(known, field)) told.push([field, getBeginning(of, known[field] as TSchema)]);
    else if (unknown++ < TOLD_UNKNOWN_FIELDS) told.push([field, of]);
  }
  return Object.fromEntries(told);
}

/** Throws INVALID_REQUEST, naming every field that is wrong, unless the check finds nothing. */
export function assertValid(check: Check, value: unknown): void {
  const details = check(value);
  if (details.length > 0) throw invalidRequest(details);
}

/** INVALID_REQUEST with these details; its message says the first and how many more there are. */
export function invalidRequest(details: ErrorDetail[]): MemoryError {
  const more = details.length > 1 ? ` (and ${details.length - 1} more)` : '';
  return new MemoryError('INVALID_REQUEST', `${details[0]?.message ?? 'invalid request'}${more}`, { details });
}

interface SchemaError {
  keyword: string;
  instancePath: string;
  message: string;
  params: object;
}

function toDetails(schema: TSchema, error: SchemaError, what: string): ErrorDetail[] {
  const params = error.params as { requiredProperties?: string[]; additionalProperties?: string[] };
  if (error.instancePath === '' && params.requiredProperties) {
    return params.requiredProperties.map((field) =>
      sentence(`/${field}`, `${field} is required and must`, must(schema, field)),
    );
  }
  if (error.instancePath === '' && params.additionalProperties) {
    return params.additionalProperties.map(unknownField);
  }
  // The schema of an unknown field is `false`. Only so many errors are told, so this one may come without the other.
  if (error.keyword === 'boolean') return [unknownField(unescapePointer(error.instancePath.slice(1)))];
  const field = unescapePointer(error.instancePath.split('/')[1] ?? '');
  if (field === '') return [sentence('', `${what} must`, rootMust(schema, error))];
  return [sentence(error.instancePath, `${field} must`, must(schema, field) ?? error.message.replace(/^must /, ''))];
}

/** Most characters of an unknown field's name that are told. */
const TOLD_OF_A_NAME = 100;

function unknownField(field: string): ErrorDetail {
  const name = shorten(field);
  return { path: `/${escapePointer(name)}`, message: `${name} is not a known field` };
}

function shorten(name: string): string {
  return name.length > TOLD_OF_A_NAME ? `${name.slice(0, TOLD_OF_A_NAME).toWellFormed()}…` : name;
}

function sentence(path: string, subject: string, rest: string | undefined): ErrorDetail {
  return { path, message: `${subject} ${rest ?? 'be given'}` };
}

function must(schema: TSchema, field: string): string | undefined {
  const properties = (schema as { properties?: Record<string, { 'x-must'?: string }> }).properties;
  return properties && Object.hasOwn(properties, field) ? properties[field]?.['x-must'] : undefined;
}

function rootMust(schema: TSchema, error: SchemaError): string {
  if (error.keyword === 'type') return 'be a JSON object';
  return (schema as { 'x-must'?: string })['x-must'] ?? error.message.replace(/^must /, '');
}

function checkStrings(value: unknown, what: string, ids: readonly string[], keepsMetadata: boolean): ErrorDetail[] {
  if (typeof value !== 'object' || value === null) return [];
  const details: ErrorDetail[] = [];
  for (const [field, content] of Object.entries(value)) {
    const path = `/${escapePointer(field)}`;
    const isMetadata = keepsMetadata && field === 'metadata' && content !== undefined;
    const problem = isMetadata ? metadataProblem(content) : undefined;
    if (problem) {
      details.push(problem);
    } else if (!isKeepable(content) && !ids.includes(field)) {
      details.push({ path, message: `${field || what} must not contain U+0000 or a lone surrogate` });
    }
  }
  return details;
}

interface Patterned {
  pattern?: string;
}

/** Returns the fields of a schema that hold a time or a list of times, with the rule for each. */
function getTimeFields(schema: TSchema): [field: string, rule: string][] {
  const { properties = {} } = schema as { properties?: Record<string, TSchema> };
  return Object.entries(properties).flatMap(([field, of]): [string, string][] => {
    const { anyOf = [], items, ...one } = of as { pattern?: string; anyOf?: Patterned[]; items?: Patterned };
    const isTime = [one, items, ...anyOf].some((schema) => schema?.pattern === TIME_PATTERN);
    return isTime ? [[field, must(schema, field) ?? TIME_MUST]] : [];
  });
}

function checkTimes(value: unknown, fields: readonly [field: string, rule: string][]): ErrorDetail[] {
  return fields.flatMap(([field, rule]) => {
    const times = [(value as Record<string, unknown>)[field]].flat();
    return times.some((time) => typeof time === 'string' && parseTime(time) === undefined)
      ? [sentence(`/${field}`, `${field} must`, rule)]
      : [];
  });
}

const encoder = new TextEncoder();

// In this order: metadata that is too deep exhausts the stack, and a value that JSON does not have has no size.
function metadataProblem(metadata: unknown): ErrorDetail | undefined {
  const refused = { path: '/metadata', message: `metadata must ${METADATA_MUST}` };
  if (!isAtMostDeep(metadata, LIMITS.metadataDepth)) return refused;
  const unstorable = findUnstorable(metadata, ['metadata']);
  if (unstorable) return unstorable;
  return encoder.encode(JSON.stringify(metadata)).length > LIMITS.metadataBytes ? refused : undefined;
}

function isAtMostDeep(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((inner) => isAtMostDeep(inner, depth - 1));
}

/**
 * Returns what is wrong with the first value, at any depth, that JSON would not return as it was given. A number such as
 * 1e400 is read as infinite, and an integer beyond 2^53 - 1 as one of its neighbours (RFC 8259, section 6). A program in
 * the same process may give any value, such as a date.
 *
 * @param names the names that lead to the value, the field itself first
 */
export function findUnstorable(value: unknown, names: readonly string[]): ErrorDetail | undefined {
  const rule = getJsonRule(value);
  if (rule !== undefined) {
    const path = names.map((name) => `/${escapePointer(name)}`).join('');
    return { path, message: `${shorten(names.join('.'))} must ${rule}` };
  }
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    const unstorable = findUnstorable(inner, [...names, name]);
    if (unstorable) return unstorable;
  }
  return undefined;
}

function getJsonRule(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return undefined;
    case 'number':
      if (!Number.isFinite(value)) return 'be a finite number';
      return Number.isInteger(value) && !Number.isSafeInteger(value) ? SAFE_INTEGER_RULE : undefined;
    case 'bigint':
      return SAFE_INTEGER_RULE;
    case 'object':
      if (value === null || Array.isArray(value) || isPlain(value)) return undefined;
  }
  return 'be a value that JSON has: a string, a number, true, false, null, an array or an object';
}

const SAFE_INTEGER_RULE = `be an integer from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}; give a larger one as a string`;

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Whether a string, or every string in a JSON value, can be kept byte for byte: without U+0000 and lone surrogates. */
export function isKeepable(value: unknown): boolean {
  if (typeof value === 'string') return !value.includes('\0') && value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([key, inner]) => isKeepable(key) && isKeepable(inner));
}

/** A field's name as a part of a JSON Pointer (RFC 6901). */
export function escapePointer(field: string): string {
  return field.replaceAll('~', '~0').replaceAll('/', '~1');
}

function unescapePointer(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}
