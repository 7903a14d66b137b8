import type { Memory, UpdateRequest } from '@memoryd/client';

/** The fields of a memory that a person can edit, in the order of the form. */
export const DRAFT_FIELDS = [
  'content',
  'tags',
  'importance',
  'valid_from',
  'valid_to',
  'expires_at',
  'metadata',
] as const;
type DraftField = (typeof DRAFT_FIELDS)[number];

/**
 * The contents of the form that edits a memory, as text. `tags` has the format of `formatTags`, `metadata` that of
 * `formatMetadata`. Times are local times with seconds, as in a date input; empty for none.
 */
export type Draft = Record<DraftField, string>;

export interface UnsavedDraft {
  draft: Draft;
  /** The version of the memory that the edits apply to. */
  base: Memory;
  /** Whether the API key has changed since the last edit: the key that signs in next may not read the memory. */
  isLocked?: boolean;
}

export function toDraft(memory: Memory): Draft {
  return {
    content: normalizeLineEnds(memory.content),
    tags: formatTags(memory.tags),
    importance: String(memory.importance),
    valid_from: toLocalTime(memory.valid_from),
    valid_to: toLocalTime(memory.valid_to),
    expires_at: toLocalTime(memory.expires_at),
    metadata: formatMetadata(Object.entries(memory.metadata)),
  };
}

/** Returns the fields of a memory that a draft changes; undefined if the draft changes no field. */
export function getChange(base: Memory, draft: Draft): UpdateRequest | undefined {
  const before = toDraft(base);
  const changed = DRAFT_FIELDS.filter((name) => draft[name] !== before[name]);
  const change = Object.fromEntries(changed.map((name) => [name, parseField(name, base, draft)]));
  return changed.length > 0 ? change : undefined;
}

function parseField(name: DraftField, base: Memory, draft: Draft): UpdateRequest[DraftField] {
  switch (name) {
    case 'content':
      return restoreLineEnds(base.content, draft.content);
    case 'tags':
      return parseTags(draft.tags);
    case 'importance':
      return Number(draft.importance);
    case 'metadata':
      return Object.fromEntries(parseMetadata(draft.metadata));
    default:
      return draft[name] === '' ? null : new Date(draft[name]).toISOString();
  }
}

/**
 * Three-way merge with `theirs`, a version of the memory that is newer than `before`. Returns the draft's value of each
 * field that the draft changes from `before`, and the value in `theirs` of each other field.
 */
export function rebaseDraft(draft: Draft, before: Draft, theirs: Memory): Draft {
  const rebased = toDraft(theirs);
  for (const name of DRAFT_FIELDS) if (draft[name] !== before[name]) rebased[name] = draft[name];
  return rebased;
}

/** Formats a time for an input of type `datetime-local`, in local time with seconds. Returns an empty text for null. */
export function toLocalTime(at: string | null): string {
  if (at === null) return '';
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** A metadata field: its name and its value. */
export type MetadataEntry = [name: string, value: unknown];

/** Formats metadata fields as JSON. */
export const formatMetadata = (entries: readonly MetadataEntry[]): string => JSON.stringify(entries);

/** Parses metadata fields; the inverse of `formatMetadata`. */
export const parseMetadata = (text: string): MetadataEntry[] => JSON.parse(text);

/** Returns a name that two metadata fields of a draft have; undefined if all names differ. */
export function findRepeatedName(draft: Draft): string | undefined {
  const names = parseMetadata(draft.metadata).map(([name]) => name);
  return names.find((name, i) => names.indexOf(name) !== i);
}

/** Converts all line ends to line feeds, as a textarea does. */
const normalizeLineEnds = (text: string): string => text.replace(/\r\n?/g, '\n');

/**
 * Restores the line ends that a textarea has converted to line feeds. Unchanged lines at the start and end of the text
 * get their line ends in `before`. All other lines get the first line end in `before`.
 */
function restoreLineEnds(before: string, edited: string): string {
  const oldLines = getLines(before);
  const newLines = getLines(edited);
  const shorter = Math.min(oldLines.length, newLines.length);
  const isUnchanged = (i: number) => normalizeLineEnds(oldLines.at(i) ?? '') === newLines.at(i);
  let head = 0;
  while (head < shorter && isUnchanged(head)) head++;
  let tail = 0;
  while (tail < shorter - head && isUnchanged(-1 - tail)) tail++;
  const lineEnd = /\r\n?|\n/.exec(before)?.[0] ?? '\n';
  const changed = newLines.slice(head, newLines.length - tail).map((line) => line.replace('\n', lineEnd));
  const text = [...oldLines.slice(0, head), ...changed, ...oldLines.slice(oldLines.length - tail)].join('');
  // With mixed line ends, a line that ends in CR may precede an empty line that ends in LF. Joined, the CR and the LF
  // are one line end, so the edited text is returned unchanged.
  return normalizeLineEnds(text) === edited ? text : edited;
}

/** Splits a text into lines that include their line ends. */
const getLines = (text: string): string[] => text.split(/(?<=\n|\r(?!\n))/);

/**
 * Formats tags as one line, separated by commas. A tag that contains a comma or line end, starts with a double quote,
 * or starts or ends with white space is quoted as a JSON string.
 */
export function formatTags(tags: readonly string[]): string {
  return tags.map((tag) => (/^"|[,\n\r]|^\s|\s$/.test(tag) ? JSON.stringify(tag) : tag)).join(', ');
}

/** Parses a line of tags, separated by commas; the inverse of `formatTags`. */
export function parseTags(text: string): string[] {
  const pieces = text.match(/\s*("(?:[^"\\]|\\.)*"(?=\s*(?:,|$))|[^,]+)/g) ?? [];
  return pieces.map((piece) => unquote(piece.trim())).filter((tag) => tag !== '');
}

function unquote(piece: string): string {
  if (!piece.startsWith('"')) return piece;
  try {
    return JSON.parse(piece) as string;
  } catch {
    // Not a JSON string, so the quote is part of the tag.
    return piece;
  }
}
