import { DEFAULTS, LIMITS } from './limits.ts';
import { TIME_MUST, TIME_PATTERN } from './time.ts';
import { TIME_ZONE_MUST } from './time-zone.ts';
import Type, { type TSchema, type TSchemaOptions } from './typebox.ts';

/**
 * Annotations of a field: `description` for the reference page, and `x-must`, which completes the error message
 * "<field> must …".
 */
export interface FieldOptions extends TSchemaOptions {
  description: string;
  'x-must': string;
}

export const Content = Type.String({
  pattern: '\\S',
  description: 'The text of the memory, stored byte for byte.',
  'x-must': 'be a string with at least one non-blank character',
});

export const Tag = Type.String({
  minLength: 1,
  maxLength: LIMITS.tagChars,
  description: 'A label of your choice.',
  'x-must': `be a string of 1 to ${LIMITS.tagChars} characters`,
});

export const Tags = Type.Array(Tag, {
  maxItems: LIMITS.tags,
  description: 'Labels of your choice. Their order is preserved, duplicates are removed.',
  'x-must': `be an array of at most ${LIMITS.tags} strings of 1 to ${LIMITS.tagChars} characters`,
});

export const Importance = Type.Number({
  minimum: 0,
  maximum: 1,
  description: 'Importance of the memory, from 0 to 1.',
  'x-must': 'be a number from 0 to 1',
});

export const Source = Type.String({
  maxLength: LIMITS.sourceChars,
  description: 'Where the memory comes from, such as the name of an application.',
  'x-must': `be a string of at most ${LIMITS.sourceChars} characters`,
});

export const SessionId = Type.String({
  minLength: 1,
  maxLength: LIMITS.sessionIdChars,
  description: 'The session that the memory belongs to, such as a conversation.',
  'x-must': `be a string of 1 to ${LIMITS.sessionIdChars} characters`,
});

export const UserId = Type.String({
  minLength: 1,
  maxLength: LIMITS.userIdChars,
  description: 'The end user that the memory belongs to.',
  'x-must': `be a string of 1 to ${LIMITS.userIdChars} characters`,
});

export const AgentId = Type.String({
  minLength: 1,
  maxLength: LIMITS.agentIdChars,
  description: 'The agent that the memory belongs to.',
  'x-must': `be a string of 1 to ${LIMITS.agentIdChars} characters`,
});

export const ExternalId = Type.String({
  minLength: 1,
  maxLength: LIMITS.externalIdChars,
  description: 'Your own id of the memory, unique among the memories of one user and agent.',
  'x-must': `be a string of 1 to ${LIMITS.externalIdChars} characters`,
});

export const SessionIdOrNull = Type.Union([SessionId, Type.Null()], { description: 'Null for semantic memories.' });

export const MemoryId = Type.String({
  description: 'The id of the memory, assigned by the service.',
  'x-must': 'be a string, the id of a memory',
});

/** Pattern of a `MemoryIdPart`: 4 to 36 ASCII letters, digits and hyphens. */
export const MEMORY_ID_PART = '^[0-9A-Za-z-]{4,36}$';

/**
 * The whole id of a memory, or its first or last characters, at least 4, as a person types them. Ids created at about
 * the same time have equal first characters and different last characters.
 */
export const MemoryIdPart = Type.String({
  pattern: MEMORY_ID_PART,
  description:
    'The whole id, or its first or last characters, at least 4. Finds merged memories too, as `GET /memories/{id}` does.',
  'x-must': 'be a string of 4 to 36 ASCII letters, digits and hyphens',
});

export const ConsolidationId = Type.String({
  description: 'The id of the consolidation run, assigned by the service.',
  'x-must': 'be a string, the id of a consolidation run',
});

export const EvictionReason = Type.Enum(['expired', 'maximum'], {
  description: 'Why the memory was evicted. `expired`: it had expired. `maximum`: its tier exceeded its maximum size.',
});

/** Rule for a time in an export; completes "<field> must …". */
export const TIMESTAMP_MUST = 'be an ISO 8601 date and time with seconds and a time zone, such as 2026-01-31T09:30:00Z';

/**
 * A time in a response. Years have four digits, because ISO 8601 allows other years only by agreement between the
 * parties.
 */
export const Timestamp = Type.String({
  format: 'date-time',
  description: 'ISO 8601 date and time with a time zone, with millisecond precision.',
  'x-must': TIMESTAMP_MUST,
});

/** Annotation of a field in which null means that the field is absent. In any other field, null has its own meaning. */
export const NULL_MEANING = 'x-null';

/** Returns the schema of a time in a request. See `parseTime`. */
export function requestTime(description: string) {
  return Type.String({ pattern: TIME_PATTERN, description, 'x-must': TIME_MUST });
}

/** Returns the schema of the name of a time zone in a request. */
export function requestTimeZone(description: string) {
  return Type.String({ minLength: 1, maxLength: LIMITS.timeZoneChars, description, 'x-must': TIME_ZONE_MUST });
}

/**
 * Returns the schema of an optional field in which null means the same as leaving the field out. See
 * `withoutNullFields`.
 */
export function orNull<Schema extends TSchema>(schema: Schema) {
  const { description = '', default: byDefault, 'x-must': must = '' } = schema as Partial<FieldOptions>;
  const options = {
    description,
    'x-must': must,
    [NULL_MEANING]: 'absent',
    ...(byDefault !== undefined && { default: byDefault }),
  };
  return Type.Optional(Type.Union([schema, Type.Null()], options));
}

const METADATA_OBJECT = `JSON object of at most ${LIMITS.metadataBytes} bytes, at most ${LIMITS.metadataDepth} levels deep`;
/** Rule for the metadata of a memory. The metadata of a filter has a different rule. */
export const METADATA_MUST = `be a ${METADATA_OBJECT}`;
export const Metadata = Type.Record(Type.String(), Type.Unknown(), {
  description: `A ${METADATA_OBJECT}.`,
  'x-must': METADATA_MUST,
});
export type Metadata = Record<string, unknown>;

/** Rule for an attachment. */
export const ATTACHMENT_MUST = `be a string of 1 to ${LIMITS.attachmentBytes} bytes in UTF-8`;
export const Attachment = Type.String({
  minLength: 1,
  maxLength: LIMITS.attachmentBytes,
  description:
    'Data that belongs to the memory, such as the JSON of a message with an image, stored byte for byte. Recall does not ' +
    'search or return it; a transcript returns it if `attachments` is true.',
  'x-must': ATTACHMENT_MUST,
});

/** Returns the schema of a time in a response. */
export function timestamp(description: string) {
  return Type.String({ ...Timestamp, description });
}

/** Returns the schema of a memory id with its own description. */
export function memoryId(description: string) {
  return Type.String({ ...MemoryId, description });
}

/**
 * Tier of a memory. `working`: recently stored. `episodic`: promoted, with its text unchanged. `semantic`: knowledge
 * distilled from several memories, without a session.
 */
export const Tier = Type.Enum(['working', 'episodic', 'semantic'], {
  description:
    'Tier of the memory. `working`: recently stored. `episodic`: promoted by consolidation. `semantic`: distilled.',
  'x-must': 'be one of working, episodic, semantic',
});
export type Tier = Type.Static<typeof Tier>;

export const Limit = Type.Integer({
  minimum: 1,
  maximum: LIMITS.pageItems,
  default: DEFAULTS.pageItems,
  description: 'Maximum number of items per page.',
  'x-must': `be a whole number from 1 to ${LIMITS.pageItems}`,
});

/** Rule for a cursor; completes "cursor must …". */
export const CURSOR_MUST = 'be the next_cursor of an earlier response to a request with the same filters';

export const Cursor = Type.String({
  minLength: 1,
  maxLength: LIMITS.cursorChars,
  description: 'The `next_cursor` of the previous page. All filters must stay the same.',
  'x-must': CURSOR_MUST,
});

export const NextCursor = Type.String({
  ...Cursor,
  description: 'Pass this value as `cursor` to get the next page. Absent on the last page.',
});

export const Count = Type.Integer({ minimum: 0 });
