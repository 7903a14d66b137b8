import type { ErrorDetail } from './error-body.ts';
import { MemoryError } from './errors.ts';
import { ATTACHMENT_MUST, METADATA_MUST } from './field.ts';
import { checkFilter } from './filter-expression.ts';
import { escapePointer, findUnstorable, isStorable, shortenName } from './json-value.ts';
import { LIMITS } from './limits.ts';
import { parseTime, TIME_MUST, TIME_PATTERN } from './time.ts';
import type { TSchema } from './typebox.ts';
import { Compile } from './typebox.ts';

/** Validates a value. Returns one problem per invalid field; an empty list if the value is valid. */
export type Check = (value: unknown) => ErrorDetail[];

/**
 * Compiles a schema to a check. In addition to the schema, the check rejects strings that databases cannot store
 * unchanged (U+0000 and lone surrogates), times that do not exist in the calendar, metadata that is too large or too
 * deep, attachments that are too large, and invalid filters.
 *
 * @param subject name of the whole value in messages, such as "body"
 * @param idFields fields that refer to existing ids; in these fields, a string that cannot be stored is valid, and
 *   matches no id
 */
export function createCheck(schema: TSchema, subject: string, idFields: readonly string[] = []): Check {
  const compiled = Compile(schema);
  // Filters also have a `metadata` field, but without the size limit of stored metadata.
  const storesMetadata = must(schema, 'metadata') === METADATA_MUST;
  const times = getTimeFields(schema);
  const hasFilter = must(schema, 'filter') !== undefined;
  const getFilterProblems = (value: unknown) => (hasFilter ? checkFilter((value as { filter?: unknown }).filter) : []);
  // `checkFilter` checks the strings of a filter, after its depth.
  const unchecked = hasFilter ? [...idFields, 'filter'] : idFields;
  return (value) => {
    if (compiled.Check(value)) {
      return [
        ...checkStrings(value, subject, unchecked, storesMetadata),
        ...getFilterProblems(value),
        ...checkTimes(value, times),
        ...checkMetadataFilter(value, storesMetadata),
      ];
    }
    const byField = new Map<string, ErrorDetail>();
    for (const error of compiled.Errors(truncateForErrors(value, schema))) {
      for (const detail of toDetails(schema, error, subject)) {
        const field = detail.path.split('/')[1] ?? '';
        if (!byField.has(field)) byField.set(field, detail);
      }
    }
    return byField.size > 0 ? [...byField.values()] : [toDetail('', `${subject} must`, 'match the schema')];
  };
}

/** Maximum number of unknown fields of an object that error details include. */
const MAX_UNKNOWN_FIELDS = 10;
/**
 * Assumed `maxItems` of an array whose schema has no `maxItems`, to truncate the array before its errors are collected.
 */
const MAX_ITEMS = 1000;

/**
 * Truncates an invalid value before its errors are collected. Collecting errors takes thousands of times as long as
 * detecting that a value is invalid, and a client may send millions of invalid items.
 */
function truncateForErrors(value: unknown, schema: TSchema): unknown {
  if (Array.isArray(value)) return value.slice(0, ((schema as { maxItems?: number }).maxItems ?? MAX_ITEMS) + 1);
  if (typeof value !== 'object' || value === null) return value;
  const known = (schema as { properties?: Record<string, TSchema> }).properties;
  if (!known) return value;
  const entries: [field: string, content: unknown][] = [];
  let unknown = 0;
  for (const [field, content] of Object.entries(value)) {
    if (Object.hasOwn(known, field)) entries.push([field, truncateForErrors(content, known[field] as TSchema)]);
    else if (unknown++ < MAX_UNKNOWN_FIELDS) entries.push([field, content]);
  }
  return Object.fromEntries(entries);
}

/** Throws INVALID_REQUEST with one detail per invalid field if the value does not pass the check. */
export function assertValid(check: Check, value: unknown): void {
  const details = check(value);
  if (details.length > 0) throw invalidRequest(details);
}

/** Creates an INVALID_REQUEST error. Its message is the first detail and the number of further details. */
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

function toDetails(schema: TSchema, error: SchemaError, subject: string): ErrorDetail[] {
  const params = error.params as { requiredProperties?: string[]; additionalProperties?: string[] };
  if (error.instancePath === '' && params.requiredProperties) {
    return params.requiredProperties.map((field) =>
      toDetail(`/${field}`, `${field} is required and must`, must(schema, field)),
    );
  }
  if (error.instancePath === '' && params.additionalProperties) {
    return params.additionalProperties.map(unknownField);
  }
  // The schema of an unknown field is `false`. Such a field is reported here, because `maxErrors` may have cut off the
  // additionalProperties error.
  if (error.keyword === 'boolean') return [unknownField(unescapePointer(error.instancePath.slice(1)))];
  const field = unescapePointer(error.instancePath.split('/')[1] ?? '');
  if (field === '') return [toDetail('', `${subject} must`, rootMust(schema, error))];
  return [toDetail(error.instancePath, `${field} must`, must(schema, field) ?? error.message.replace(/^must /, ''))];
}

function unknownField(field: string): ErrorDetail {
  const name = shortenName(field);
  return { path: `/${escapePointer(name)}`, message: `${name} is not a known field` };
}

function toDetail(path: string, subject: string, rest: string | undefined): ErrorDetail {
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

function checkStrings(
  value: unknown,
  subject: string,
  idFields: readonly string[],
  storesMetadata: boolean,
): ErrorDetail[] {
  if (typeof value !== 'object' || value === null) return [];
  const details: ErrorDetail[] = [];
  for (const [field, content] of Object.entries(value)) {
    const path = `/${escapePointer(field)}`;
    const isMetadata = storesMetadata && field === 'metadata' && content !== undefined;
    const problem = isMetadata ? findMetadataProblem(content) : undefined;
    if (problem) {
      details.push(problem);
    } else if (!isStorable(content) && !idFields.includes(field)) {
      details.push({ path, message: `${field || subject} must not contain U+0000 or a lone surrogate` });
    } else if (field === 'attachment' && isTooLarge(content)) {
      details.push({ path, message: `attachment must ${ATTACHMENT_MUST}` });
    }
  }
  return details;
}

// The schema can limit only the number of characters.
function isTooLarge(attachment: unknown): boolean {
  return typeof attachment === 'string' && encoder.encode(attachment).length > LIMITS.attachmentBytes;
}

/** Placeholders of documents for the name of a metadata field. */
const PLACEHOLDER = /^(?:<key>|\{key\})$/i;

/**
 * Rejects placeholders in the `metadata` of a filter. A memory may have metadata with such a name, but the filter was
 * far more likely copied from a document, and would match nothing.
 */
function checkMetadataFilter(value: unknown, storesMetadata: boolean): ErrorDetail[] {
  if (storesMetadata) return [];
  const { metadata } = (value ?? {}) as { metadata?: object };
  const key = Object.keys(metadata ?? {}).find((name) => PLACEHOLDER.test(name));
  if (key === undefined) return [];
  const message = `metadata must have the name of a metadata field in place of ${key}, such as room in metadata.room=1`;
  return [{ path: `/metadata/${escapePointer(key)}`, message }];
}

interface PatternSchema {
  pattern?: string;
}

/** Returns the fields of a schema that contain a time or a list of times, each with its rule. */
function getTimeFields(schema: TSchema): [field: string, rule: string][] {
  const { properties = {} } = schema as { properties?: Record<string, TSchema> };
  return Object.entries(properties).flatMap(([field, fieldSchema]): [string, string][] => {
    const {
      anyOf = [],
      items,
      ...own
    } = fieldSchema as PatternSchema & {
      anyOf?: PatternSchema[];
      items?: PatternSchema;
    };
    const isTime = [own, items, ...anyOf].some((candidate) => candidate?.pattern === TIME_PATTERN);
    return isTime ? [[field, must(schema, field) ?? TIME_MUST]] : [];
  });
}

function checkTimes(value: unknown, fields: readonly [field: string, rule: string][]): ErrorDetail[] {
  return fields.flatMap(([field, rule]) => {
    const times = [(value as Record<string, unknown>)[field]].flat();
    return times.some((time) => typeof time === 'string' && parseTime(time) === undefined)
      ? [toDetail(`/${field}`, `${field} must`, rule)]
      : [];
  });
}

const encoder = new TextEncoder();

// The order matters: metadata that is too deep would overflow the stack of the other checks, and the size of a value
// that JSON cannot represent is undefined.
function findMetadataProblem(metadata: unknown): ErrorDetail | undefined {
  const tooLarge = { path: '/metadata', message: `metadata must ${METADATA_MUST}` };
  if (!isWithinDepth(metadata, LIMITS.metadataDepth)) return tooLarge;
  const unstorable = findUnstorable(metadata, ['metadata']);
  if (unstorable) return unstorable;
  return encoder.encode(JSON.stringify(metadata)).length > LIMITS.metadataBytes ? tooLarge : undefined;
}

function isWithinDepth(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((inner) => isWithinDepth(inner, depth - 1));
}

function unescapePointer(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}
