import { ErrorBody } from './error-body.ts';
import {
  AgentId,
  Count,
  Cursor,
  ExternalId,
  Limit,
  NextCursor,
  orNull,
  requestTime,
  requestTimeZone,
  Timestamp,
  UserId,
} from './field.ts';
import { LIMITS } from './limits.ts';
import { Redacted } from './redacted.ts';
import { ownerFields, ownScopeFields } from './scope.ts';
import { StoreRequest } from './store.ts';
import Type from './typebox.ts';

/** The formats of imported files. */
export const IMPORT_FORMATS = [
  'memoryd',
  'chatgpt',
  'claude',
  'claude-code',
  'codex',
  'gemini-cli',
  'mem0',
  'zep',
  'letta',
  'mcp-memory',
  'markdown',
  'csv',
  'jsonl',
] as const;

export const ImportFormat = Type.Enum([...IMPORT_FORMATS], {
  description: 'The format that the texts come from.',
  'x-must': `be one of ${IMPORT_FORMATS.join(', ')}`,
});
export type ImportFormat = Type.Static<typeof ImportFormat>;

export const ImportId = Type.String({
  description: 'The id of the import, assigned by the service.',
  'x-must': 'be a string, the id of an import',
});

/** A text of another program, to store as a memory. `external_id` makes the import repeatable. */
export const ImportedText = Type.Object(
  {
    ...StoreRequest.properties,
    external_id: ExternalId,
    assumed_created_at: orNull(
      requestTime(
        'Time of the event if `created_at` is absent, such as the last change of a file. A repeat that differs only in this time is unchanged.',
      ),
    ),
    aliases: Type.Optional(
      Type.Array(ExternalId, {
        maxItems: LIMITS.importAliases,
        description:
          'Other external ids under which the text may be stored already. If it is, nothing is stored. They are not kept.',
        'x-must': `be a list of at most ${LIMITS.importAliases} external ids`,
      }),
    ),
  },
  { additionalProperties: false },
);
export type ImportedText = Type.Static<typeof ImportedText>;

/** Returns the fields for the owner of imported memories. `others`: what happens to a memory of another owner. */
function ownerOfImport(others: (owner: 'user' | 'agent') => string) {
  const describe = (owner: 'user' | 'agent') => `The ${owner} whom the memories belong to. ${others(owner)}`;
  return {
    user_id: Type.Optional(Type.String({ ...UserId, description: describe('user') })),
    agent_id: Type.Optional(Type.String({ ...AgentId, description: describe('agent') })),
  };
}

/** The source of imported texts, and their owner. */
export const ImportTextsRequest = Type.Object(
  {
    ...ownerOfImport((owner) => `A text that names another ${owner} is refused.`),
    from: ImportFormat,
    name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: LIMITS.importNameChars,
        description: 'The name of the file or folder, shown in the list of imports.',
        'x-must': `be a string of 1 to ${LIMITS.importNameChars} characters`,
      }),
    ),
    content_key: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: LIMITS.importKeyChars,
        description:
          'A digest of the content. An import of the same owner, format and digest continues the earlier import, under its id.',
        'x-must': `be a string of 1 to ${LIMITS.importKeyChars} characters`,
      }),
    ),
    expected_count: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'Number of texts that will follow, for the progress in events.',
        'x-must': 'be a whole number of at least 0',
      }),
    ),
    redact: Type.Optional(
      Type.Boolean({
        default: true,
        description: 'Whether secrets of known formats are removed. Redaction of the whole service always applies.',
        'x-must': 'be true or false',
      }),
    ),
  },
  { additionalProperties: false },
);
export type ImportTextsRequest = Type.Static<typeof ImportTextsRequest>;

/** An item of a source that could not be stored. */
export const RefusedItem = Type.Object({
  place: Type.String({
    description: 'Where the item stands in the source, such as a file and a number, or the external id of a text.',
  }),
  error: ErrorBody,
});
export type RefusedItem = Type.Static<typeof RefusedItem>;

const countFields = {
  imported_count: Type.Integer({ minimum: 0, description: 'Number of new memories.' }),
  updated_count: Type.Integer({
    minimum: 0,
    description: 'Number of memories of earlier imports whose text or fields changed in the source.',
  }),
  unchanged_count: Type.Integer({
    minimum: 0,
    description: 'Number of texts that were already present, including memories that were changed after their import.',
  }),
  refused_count: Count,
  refused: Type.Array(RefusedItem, {
    maxItems: LIMITS.listedRejections,
    description: `The first ${LIMITS.listedRejections} refused items, with their errors.`,
  }),
  redacted: Redacted,
};

/** Result of an import of texts. */
export const ImportTextsResponse = Type.Object({ import_id: ImportId, ...countFields });
export type ImportTextsResponse = Type.Static<typeof ImportTextsResponse>;

/** A text as a preview shows it. */
export const PreviewedText = Type.Object({
  content: Type.String({ description: `The first ${LIMITS.previewedChars} characters of the text.` }),
  ...Type.Pick(StoreRequest, ['tags', 'session_id', 'user_id', 'created_at', 'valid_from', 'valid_to', 'metadata'])
    .properties,
  external_id: ExternalId,
});
export type PreviewedText = Type.Static<typeof PreviewedText>;

/** Items of a file that are no memories. */
export const LeftOutItems = Type.Object({
  reason: Type.String({ description: 'Why the items are left out, as a sentence part in English.' }),
  count: Type.Integer({ minimum: 1 }),
});
export type LeftOutItems = Type.Static<typeof LeftOutItems>;

/** The content of a file, in numbers and examples. */
export const ImportPreview = Type.Object({
  from: ImportFormat,
  found_count: Type.Integer({ minimum: 0, description: 'Number of texts that can be stored.' }),
  session_count: Type.Integer({
    minimum: 0,
    description: `Number of sessions, such as conversations, of the texts. At most ${LIMITS.countedSessions} are counted.`,
  }),
  first_at: Type.Optional(Timestamp),
  last_at: Type.Optional(Timestamp),
  first: Type.Array(PreviewedText, { maxItems: LIMITS.previewedTexts, description: 'The first texts.' }),
  left_out: Type.Array(LeftOutItems, { description: 'Items that are no memories, by reason.' }),
  users: Type.Optional(
    Type.Array(Type.String(), {
      maxItems: LIMITS.previewedUsers,
      description: 'The users that the file names, if it names users.',
    }),
  ),
});
export type ImportPreview = Type.Static<typeof ImportPreview>;

/**
 * Result of an import of a file. Without `import_id`, nothing was stored: it was a dry run, or the file has no texts.
 */
export const FileImportResponse = Type.Object({
  import_id: Type.Optional(ImportId),
  ...ImportPreview.properties,
  ...countFields,
});
export type FileImportResponse = Type.Static<typeof FileImportResponse>;

const FILE_FORMATS = ['auto', ...IMPORT_FORMATS] as const;

/** Options of an import of a file. Without `from`, the file is an export of memoryd, and only its owner can be given. */
export const ImportFileRequest = Type.Object(
  {
    ...ownerOfImport((owner) => `In an export of memoryd, a memory of another ${owner} is refused.`),
    from: Type.Optional(
      Type.Enum([...FILE_FORMATS], {
        description: 'The format of the file; `auto` recognizes it by its content. If absent, `memoryd`.',
        'x-must': `be one of ${FILE_FORMATS.join(', ')}`,
      }),
    ),
    name: Type.Optional(
      Type.String({
        ...ImportTextsRequest.properties.name,
        description:
          'The name of the file. Notes, and rows of tables with short ids, belong to the file of this name: a changed file ' +
          'with the same name updates them. Without a name, a file with other content is another file.',
      }),
    ),
    dry_run: Type.Optional(
      Type.Boolean({
        description:
          'Whether the response only shows what an import would do, and nothing is stored. By default false.',
        'x-must': 'be true or false',
      }),
    ),
    source_user: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: LIMITS.userIdChars,
        description: 'The user of the file whose memories are imported, if the file has memories of several users.',
        'x-must': `be a string of 1 to ${LIMITS.userIdChars} characters`,
      }),
    ),
    map: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: LIMITS.importMapChars,
        description:
          'The column or field of the file for each field of a memory, for `csv` and `jsonl`: `content=text,created_at=date`.',
        'x-must': `be pairs such as content=text,created_at=date, of at most ${LIMITS.importMapChars} characters`,
      }),
    ),
    rest: Type.Optional(
      Type.Enum(['metadata'], {
        description:
          'Where columns and fields without a place in a memory go, for `csv` and `jsonl`; left out if absent.',
        'x-must': 'be metadata',
      }),
    ),
    capture: Type.Optional(
      Type.Enum(['prompts', 'turns'], {
        description:
          'What is imported of agent programs: the prompts, or `turns` with the last answer to each. By default `prompts`.',
        'x-must': 'be prompts or turns',
      }),
    ),
    timezone: Type.Optional(
      requestTimeZone('IANA time zone of times without one. Defaults to the time zone of the service.'),
    ),
    redact: Type.Optional(
      Type.Boolean({
        description:
          'Whether secrets of known formats are removed. Defaults to the setting of the service; redaction of the whole ' +
          'service always applies.',
        'x-must': 'be true or false',
      }),
    ),
  },
  { additionalProperties: false },
);
export type ImportFileRequest = Type.Static<typeof ImportFileRequest>;

/** Lists imports, newest first, one page at a time. */
export const ImportsRequest = Type.Object(
  { ...ownScopeFields, limit: Type.Optional(Limit), cursor: Type.Optional(Cursor) },
  { additionalProperties: false },
);
export type ImportsRequest = Type.Static<typeof ImportsRequest>;

/** One import. */
export const Import = Type.Object({
  id: ImportId,
  from: ImportFormat,
  name: Type.Optional(Type.String({ description: 'The name of the file or folder, if the import had one.' })),
  ...ownerFields,
  started_at: Timestamp,
  ended_at: Type.Union([Timestamp, Type.Null()], {
    description: 'Null while the import is in progress, and if it was interrupted. Repeat an interrupted import.',
  }),
  imported_count: Type.Integer({ minimum: 0, description: 'Number of memories that the import created.' }),
  memory_count: Type.Integer({
    minimum: 0,
    description:
      'Number of stored memories that belong to the import: it created them, or changed them before the import that created ' +
      'them was undone.',
  }),
});
export type Import = Type.Static<typeof Import>;

export const ImportsResponse = Type.Object({
  imports: Type.Array(Import, { description: 'Newest first.' }),
  total: Count,
  next_cursor: Type.Optional(NextCursor),
});
export type ImportsResponse = Type.Static<typeof ImportsResponse>;

/** Result of undoing an import. */
export const UndoImportResponse = Type.Object({
  status: Type.Literal('undone'),
  id: ImportId,
  forgotten_count: Type.Integer({
    minimum: 0,
    description: 'Number of forgotten memories, including semantic memories that have no source left.',
  }),
  kept_count: Type.Integer({
    minimum: 0,
    description:
      'Number of memories that the import created or changed, and that stay, because someone, or a later import, changed ' +
      'them, or because an earlier import created them.',
  }),
  purge: Type.Optional(Type.Literal('pending', { description: 'Present while deleted bytes may still be on disk.' })),
});
export type UndoImportResponse = Type.Static<typeof UndoImportResponse>;
