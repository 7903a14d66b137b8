import {
  Attachment,
  Content,
  ExternalId,
  Importance,
  Metadata,
  SessionId,
  Source,
  Tags,
  TIMESTAMP_MUST,
  Tier,
  Timestamp,
  timestamp,
} from './field.ts';
import { FilterExpression } from './filter-expression.ts';
import { LIMITS } from './limits.ts';
import { ownerFields, scopeFields } from './scope.ts';
import Type from './typebox.ts';
import { validityFields } from './validity.ts';

/** Selects the memories to export. A semantic memory without any of its sources in the export cannot be imported. */
export const ExportRequest = Type.Object(
  { ...scopeFields, filter: Type.Optional(FilterExpression), ...validityFields },
  { additionalProperties: false },
);
export type ExportRequest = Type.Static<typeof ExportRequest>;

/** The first line of an export. */
export const ExportHeader = Type.Object(
  {
    format: Type.Literal('memoryd', { 'x-must': 'be memoryd' }),
    version: Type.Literal(1, {
      description: 'Version of the format.',
      'x-must': 'be 1, the only version that this memoryd reads; update memoryd to import a later version',
    }),
    lines: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'Number of lines that follow. An import uses it to detect a truncated export.',
        'x-must': 'be a whole number of at least 0',
      }),
    ),
  },
  { additionalProperties: false, description: 'Header of an export file.' },
);
export type ExportHeader = Type.Static<typeof ExportHeader>;

const MAX_ID_CHARS = 256;
const ExportedId = Type.String({
  minLength: 1,
  maxLength: MAX_ID_CHARS,
  description: 'The id of the memory, assigned by the service.',
  'x-must': `be a string of 1 to ${MAX_ID_CHARS} characters`,
});
const ID_MUST = `be the id of a memory, of 1 to ${MAX_ID_CHARS} characters, or null`;
const IDS_MUST = `be an array of memory ids of 1 to ${MAX_ID_CHARS} characters`;

function link(description: string) {
  return Type.Union([ExportedId, Type.Null()], { description, 'x-must': ID_MUST });
}

function timestampOrNull(description: string) {
  return Type.Union([timestamp(description), Type.Null()], {
    description,
    'x-must': `${TIMESTAMP_MUST}, or null`,
  });
}

function counter(description: string) {
  return Type.Integer({
    minimum: 1,
    maximum: LIMITS.counterValue,
    description,
    'x-must': `be a whole number from 1 to ${LIMITS.counterValue}`,
  });
}

/** A text that a memory had before. */
export const EarlierText = Type.Object(
  { revision: counter('Revision of the memory that had this text.'), content: Content, replaced_at: Timestamp },
  { additionalProperties: false },
);

export type EarlierText = Type.Static<typeof EarlierText>;

/** A line of an export: all stored data of a visible or hidden memory, except its vectors. */
export const ExportedMemory = Type.Object(
  {
    id: ExportedId,
    content: Content,
    tags: Tags,
    importance: Importance,
    source: Source,
    session_id: Type.Union([SessionId, Type.Null()], {
      description: 'Null for semantic memories only.',
      'x-must': `be a string of 1 to ${LIMITS.sessionIdChars} characters, or null`,
    }),
    ...ownerFields,
    external_id: Type.Optional(ExternalId),
    tier: Tier,
    metadata: Metadata,
    attachment: Type.Optional(Attachment),
    created_at: Timestamp,
    stored_at: timestamp('Time at which the service stored the memory.'),
    updated_at: timestamp('Time of the last client write.'),
    expires_at: timestampOrNull('Time at which the memory expires and is hidden.'),
    valid_from: timestampOrNull('Time from which the memory holds. Null stands for `created_at`.'),
    valid_to: timestampOrNull('Time from which the memory no longer holds.'),
    evicted_at: timestampOrNull('Time at which the memory was evicted to the archive.'),
    supersedes: link('The memory that this one supersedes.'),
    superseded_by: Type.Array(ExportedId, {
      description: 'Memories that supersede this one, in the order of their arrival.',
      'x-must': IDS_MUST,
    }),
    merged_into: link('The visible duplicate that this memory was merged into.'),
    derived_from: Type.Array(ExportedId, {
      description:
        'The sources that a semantic memory was distilled from. At least one of them precedes it in the export.',
      'x-must': IDS_MUST,
    }),
    formerly_derived_from: Type.Array(ExportedId, {
      description: 'Former sources of a semantic memory. Only its earlier texts may contain information from them.',
      'x-must': IDS_MUST,
    }),
    version: counter('Number of client writes to the memory.'),
    revision: counter('Number of texts that the memory has had.'),
    distilled_revision: Type.Union([counter('A revision number.'), Type.Null()], {
      description: 'Revision of the last text that consolidation wrote. Null unless the memory is semantic.',
      'x-must': `be a whole number from 1 to ${LIMITS.counterValue}, or null`,
    }),
    access_count: Type.Integer({
      minimum: 0,
      maximum: LIMITS.counterValue,
      'x-must': `be a whole number from 0 to ${LIMITS.counterValue}`,
    }),
    accessed_at: timestampOrNull('Time of the last recall that returned the memory. Null if it was never recalled.'),
    history: Type.Array(EarlierText, {
      description: 'Earlier texts of the memory, oldest first.',
      'x-must':
        `be an array of objects with exactly the fields revision (a whole number from 1 to ${LIMITS.counterValue}), ` +
        `content (a string with at least one non-blank character) and replaced_at (${TIMESTAMP_MUST.replace(/^be /, '')})`,
    }),
    awaits: Type.Array(Type.Enum(['merging', 'distilling']), {
      description: 'Steps of the next consolidation run that the memory is queued for.',
      'x-must': 'be an array whose items are merging or distilling',
    }),
  },
  { additionalProperties: false, description: 'One memory.' },
);
export type ExportedMemory = Type.Static<typeof ExportedMemory>;

/** A line after the memories: a group of memories that consolidation must not distil again. */
export const ExportedDecline = Type.Object(
  {
    declined_group: Type.String({
      pattern: '^[0-9A-F]{64}$',
      description:
        'Digest of the ids and revisions of the group. A client forgot the semantic memory that was distilled from it.',
      'x-must': 'be a string of 64 hexadecimal digits, with letters in upper case',
    }),
    ...ownerFields,
  },
  { additionalProperties: false, description: 'A group of memories that consolidation must not distil again.' },
);
export type ExportedDecline = Type.Static<typeof ExportedDecline>;

/** A line of an export: the header first, then memories, then declined groups. */
export const ExportLine = Type.Union([ExportHeader, ExportedMemory, ExportedDecline], {
  description: 'A line of an export: the header first, then memories, then groups that must not be distilled again.',
});
export type ExportLine = Type.Static<typeof ExportLine>;
