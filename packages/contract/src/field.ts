import { DEFAULTS, LIMITS } from './limits.ts';
import { TIME_MUST, TIME_PATTERN } from './time.ts';
import Type, { type TSchema, type TSchemaOptions } from './typebox.ts';

/**
 * What a field carries beside its JSON Schema: `description` for the reference page, and `x-must`, the half
 * sentence that completes "<field> must …" in an error.
 */
export interface FieldOptions extends TSchemaOptions {
  description: string;
  'x-must': string;
}

export const Content = Type.String({
  pattern: '\\S',
  description: 'The memory text, kept byte for byte.',
  'x-must': 'be a string with at least one non-blank character',
});

export const Tag = Type.String({
  minLength: 1,
  maxLength: LIMITS.tagChars,
  description: 'A free label.',
  'x-must': `be a string of 1 to ${LIMITS.tagChars} characters`,
});

export const Tags = Type.Array(Tag, {
  maxItems: LIMITS.tags,
  description: 'Free labels; order is kept, duplicates are dropped.',
  'x-must': `be an array of at most ${LIMITS.tags} strings of 1 to ${LIMITS.tagChars} characters`,
});

export const Importance = Type.Number({
  minimum: 0,
  maximum: 1,
  description: 'How much the memory matters, from 0 to 1.',
  'x-must': 'be a number from 0 to 1',
});

export const Source = Type.String({
  maxLength: LIMITS.sourceChars,
  description: 'Origin label of the memory.',
  'x-must': `be a string of at most ${LIMITS.sourceChars} characters`,
});

export const SessionId = Type.String({
  minLength: 1,
  maxLength: LIMITS.sessionIdChars,
  description: 'The session, a conversation or any other sequence, that the memory belongs to.',
  'x-must': `be a string of 1 to ${LIMITS.sessionIdChars} characters`,
});

export const UserId = Type.String({
  minLength: 1,
  maxLength: LIMITS.userIdChars,
  description: 'The end user whose memory it is.',
  'x-must': `be a string of 1 to ${LIMITS.userIdChars} characters`,
});

export const AgentId = Type.String({
  minLength: 1,
  maxLength: LIMITS.agentIdChars,
  description: 'The agent whose memory it is.',
  'x-must': `be a string of 1 to ${LIMITS.agentIdChars} characters`,
});

export const SessionIdOrNull = Type.Union([SessionId, Type.Null()], { description: 'Null for semantic memories.' });

export const MemoryId = Type.String({
  description: 'The id that the service gave the memory.',
  'x-must': 'be the id of a memory',
});

export const ConsolidationId = Type.String({
  description: 'The id that the service gave the run of consolidation.',
  'x-must': 'be the id of a consolidation',
});

export const EvictionReason = Type.Enum(['expired', 'maximum'], {
  description: 'Why a memory left recall: it had expired, or its tier held more than it may.',
});

/**
 * A time as the service returns it. Years of four digits only: the range that ISO 8601 writes without agreement between
 * the parties.
 */
export const Timestamp = Type.String({
  format: 'date-time',
  description: 'ISO 8601 date and time with a time zone, kept to the millisecond.',
  'x-must': 'be an ISO 8601 date and time with a time zone, such as 2026-01-31T09:30:00Z',
});

/** Returns the schema of a time in a request. See `parseTime`. */
export function requestTime(description: string) {
  return Type.String({ pattern: TIME_PATTERN, description, 'x-must': TIME_MUST });
}

/** Returns the schema of an optional field in which null means that the field is absent. */
export function orNull<Schema extends TSchema>(schema: Schema) {
  const { description = '', default: byDefault, 'x-must': must = '' } = schema as Partial<FieldOptions>;
  const options = { description, 'x-must': must, ...(byDefault !== undefined && { default: byDefault }) };
  return Type.Optional(Type.Union([schema, Type.Null()], options));
}

const METADATA_OBJECT = `JSON object of at most ${LIMITS.metadataBytes} bytes, at most ${LIMITS.metadataDepth} levels deep`;
/** The rule for a memory's metadata. A filter's metadata has another. */
export const METADATA_MUST = `be a ${METADATA_OBJECT}`;
export const Metadata = Type.Record(Type.String(), Type.Unknown(), {
  description: `A ${METADATA_OBJECT}.`,
  'x-must': METADATA_MUST,
});
export type Metadata = Record<string, unknown>;

/** Returns the schema of a time that the service returns, with a description. */
export function timestamp(description: string) {
  return Type.String({ ...Timestamp, description });
}

/** A memory's id that says what it is for. */
export function memoryId(description: string) {
  return Type.String({ ...MemoryId, description });
}

/**
 * The three tiers. `working`: just stored. `episodic`: promoted, verbatim. `semantic`: knowledge distilled from
 * several episodes, in no session.
 */
export const Tier = Type.Enum(['working', 'episodic', 'semantic'], {
  description: 'Where the memory stands: just stored, promoted, or distilled.',
  'x-must': 'be one of working, episodic, semantic',
});
export type Tier = Type.Static<typeof Tier>;

export const Limit = Type.Integer({
  minimum: 1,
  maximum: LIMITS.pageItems,
  default: DEFAULTS.pageItems,
  description: 'Most items in one page.',
  'x-must': `be a whole number from 1 to ${LIMITS.pageItems}`,
});

/** The rule for a cursor, as it completes "cursor must …". */
export const CURSOR_MUST = 'be the next_cursor of an earlier response to a request with the same filters';

export const Cursor = Type.String({
  minLength: 1,
  maxLength: LIMITS.cursorChars,
  description: 'The `next_cursor` of the page before, for a request with the same filters.',
  'x-must': CURSOR_MUST,
});

export const NextCursor = Type.String({
  ...Cursor,
  description: 'Where the next page begins, to be given as `cursor`; absent on the last page.',
});

export const Count = Type.Integer({ minimum: 0 });
