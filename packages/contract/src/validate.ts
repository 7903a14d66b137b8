import type { ErrorDetail } from './error-body.ts';
import { MemoryError } from './errors.ts';
import { METADATA_MUST } from './field.ts';
import { LIMITS } from './limits.ts';
import type { TSchema } from './typebox.ts';
import { Compile } from './typebox.ts';

/** Answers what is wrong with a value, a sentence for each field; nothing wrong is an empty list. */
export type Check = (value: unknown) => ErrorDetail[];

/**
 * The check of a schema. Beyond the schema it refuses strings that cannot be kept byte for byte (U+0000 and lone
 * surrogates, which UTF-8 does not have) and metadata that is too large or too deep.
 *
 * @param what names the value as a whole in messages, such as "body"
 * @param ids fields that name what there may be: a string that cannot be kept is none of them, and found by nobody
 */
export function checkOf(schema: TSchema, what: string, ids: readonly string[] = []): Check {
  const compiled = Compile(schema);
  // A filter names metadata too, and may be larger than what it looks for.
  const keepsMetadata = must(schema, 'metadata') === METADATA_MUST;
  return (value) => {
    if (compiled.Check(value)) return checkStrings(value, what, ids, keepsMetadata);
    const byField = new Map<string, ErrorDetail>();
    for (const error of compiled.Errors(beginningOf(value, schema))) {
      for (const detail of detailsOf(schema, error, what)) {
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
function beginningOf(value: unknown, schema: TSchema): unknown {
  if (Array.isArray(value)) return value.slice(0, ((schema as { maxItems?: number }).maxItems ?? TOLD_ITEMS) + 1);
  if (typeof value !== 'object' || value === null) return value;
  const known = (schema as { properties?: Record<string, TSchema> }).properties;
  if (!known) return value;
  const told: [field: string, of: unknown][] = [];
  let unknown = 0;
  for (const [field, of] of Object.entries(value)) {
    if (Object.hasOwn(known, field)) told.push([field, beginningOf(of, known[field] as TSchema)]);
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

function detailsOf(schema: TSchema, error: SchemaError, what: string): ErrorDetail[] {
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
  const name = field.length > TOLD_OF_A_NAME ? `${field.slice(0, TOLD_OF_A_NAME).toWellFormed()}…` : field;
  return { path: `/${escapePointer(name)}`, message: `${name} is not a known field` };
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
    if (problem !== undefined) {
      details.push({ path, message: `metadata must ${problem}` });
    } else if (!isKeepable(content) && !ids.includes(field)) {
      details.push({ path, message: `${field || what} must not contain U+0000 or a lone surrogate` });
    }
  }
  return details;
}

const encoder = new TextEncoder();

// In this order: what is too deep exhausts the stack, and what JSON cannot say has no size.
function metadataProblem(metadata: unknown): string | undefined {
  if (!isAtMostDeep(metadata, LIMITS.metadataDepth)) return METADATA_MUST;
  if (!isJson(metadata))
    return 'hold only what JSON can say: texts, finite numbers, true, false, null, lists and objects';
  return encoder.encode(JSON.stringify(metadata)).length > LIMITS.metadataBytes ? METADATA_MUST : undefined;
}

function isAtMostDeep(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((inner) => isAtMostDeep(inner, depth - 1));
}

// A number such as 1e400 is read as infinite. A program within the process may give anything, such as dates.
function isJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object') return typeof value === 'string' || typeof value === 'boolean';
  return value === null || ((Array.isArray(value) || isPlain(value)) && Object.values(value).every(isJson));
}

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
