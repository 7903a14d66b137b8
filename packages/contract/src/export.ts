import { Content, Importance, Metadata, SessionId, Source, Tags, Tier, Timestamp, timestamp } from './field.ts';
import { LIMITS } from './limits.ts';
import { ownerFields } from './scope.ts';
import Type from './typebox.ts';

/** The first line of an export. */
export const ExportHeader = Type.Object(
  {
    format: Type.Literal('memoryd', { 'x-must': 'be memoryd' }),
    version: Type.Literal(1, { description: 'Of the format.', 'x-must': 'be 1, the version that this memoryd reads' }),
    lines: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'How many lines follow, so that an export that was cut off is known.',
        'x-must': 'be a whole number',
      }),
    ),
  },
  { additionalProperties: false, description: 'What the file is.' },
);
export type ExportHeader = Type.Static<typeof ExportHeader>;

const ExportedId = Type.String({
  minLength: 1,
  maxLength: 256,
  description: 'The id that the service gave the memory.',
  'x-must': 'be a string of 1 to 256 characters',
});

function link(description: string) {
  return Type.Union([ExportedId, Type.Null()], { description, 'x-must': 'be the id of a memory or null' });
}

function timestampOrNull(description: string) {
  return Type.Union([timestamp(description), Type.Null()], {
    description,
    'x-must': 'be an ISO 8601 date and time with a time zone, or null',
  });
}

function counting(description: string) {
  return Type.Integer({
    minimum: 1,
    maximum: LIMITS.counted,
    description,
    'x-must': `be a whole number from 1 to ${LIMITS.counted}`,
  });
}

const EarlierText = Type.Object(
  { revision: counting('Which of the texts it was.'), content: Content, replaced_at: Timestamp },
  { additionalProperties: false },
);

/** A line of an export: everything that is kept of a memory, hidden or not, but its vectors. */
export const ExportedMemory = Type.Object(
  {
    id: ExportedId,
    content: Content,
    tags: Tags,
    importance: Importance,
    source: Source,
    session_id: Type.Union([SessionId, Type.Null()], {
      description: 'Null for semantic memories, and for no others.',
      'x-must': `be a string of 1 to ${LIMITS.sessionIdChars} characters, or null`,
    }),
    ...ownerFields,
    tier: Tier,
    metadata: Metadata,
    created_at: Timestamp,
    stored_at: timestamp('When the service was given it.'),
    updated_at: timestamp('When a client wrote it last.'),
    expires_at: timestampOrNull('From when on it is hidden.'),
    evicted_at: timestampOrNull('When it went to the archive.'),
    supersedes: link('The memory that this one corrects.'),
    superseded_by: link('The memory that corrects this one.'),
    merged_into: link('The duplicate with the same text that stands for it.'),
    derived_from: Type.Array(ExportedId, {
      description: 'The memories that a semantic memory was distilled from; one of them at least comes before it.',
      'x-must': 'be an array of ids of memories',
    }),
    formerly_derived_from: Type.Array(ExportedId, {
      description: 'Those that its earlier texts alone may tell of.',
      'x-must': 'be an array of ids of memories',
    }),
    version: counting('Counts what clients wrote to it.'),
    revision: counting('Counts its texts.'),
    distilled_revision: Type.Union([counting('A revision.'), Type.Null()], {
      description: 'The last of its texts that consolidation made; null unless it is semantic.',
      'x-must': `be a whole number from 1 to ${LIMITS.counted}, or null`,
    }),
    access_count: Type.Integer({
      minimum: 0,
      maximum: LIMITS.counted,
      'x-must': `be a whole number from 0 to ${LIMITS.counted}`,
    }),
    accessed_at: timestampOrNull('When it was last given out; null where it never was.'),
    history: Type.Array(EarlierText, {
      description: 'The texts that it had before, oldest first.',
      'x-must': 'be an array of texts with their revisions and the times when they were replaced',
    }),
    awaits: Type.Array(Type.Enum(['merging', 'distilling']), {
      description: 'What the next consolidation has to look at it for.',
      'x-must': 'be an array of merging and distilling',
    }),
  },
  { additionalProperties: false, description: 'One memory.' },
);
export type ExportedMemory = Type.Static<typeof ExportedMemory>;

/** A line after those of memories: from this group nothing is distilled again. */
export const ExportedDecline = Type.Object(
  {
    declined_group: Type.String({
      pattern: '^[0-9A-F]{64}$',
      description: 'A digest of the ids and revisions of memories of which a client forgot what was distilled.',
      'x-must': 'be 64 hexadecimal digits',
    }),
    ...ownerFields,
  },
  { additionalProperties: false, description: 'A group of memories from which nothing is to be distilled again.' },
);
export type ExportedDecline = Type.Static<typeof ExportedDecline>;
