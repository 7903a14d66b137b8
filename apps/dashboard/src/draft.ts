import type { Memory, UpdateRequest } from '@memoryd/client';

/** The contents of the form that edits a memory. */
export interface Draft {
  content: string;
  /** Tags in the format of `formatTags`. */
  tags: string;
  importance: string;
}

export interface UnsavedDraft {
  draft: Draft;
  /** The version of the memory that the edits apply to. */
  base: Memory;
}

export function toDraft({ content, tags, importance }: Memory): Draft {
  return { content: normalizeLineEnds(content), tags: formatTags(tags), importance: String(importance) };
}

/** Returns the fields of a memory that a draft changes; undefined if the draft changes no field. */
export function getChange(base: Memory, draft: Draft): UpdateRequest | undefined {
  const before = toDraft(base);
  const change: UpdateRequest = {
    ...(draft.content !== before.content && { content: restoreLineEnds(base.content, draft.content) }),
    ...(draft.tags !== before.tags && { tags: parseTags(draft.tags) }),
    ...(draft.importance !== before.importance && { importance: Number(draft.importance) }),
  };
  return Object.keys(change).length > 0 ? change : undefined;
}

/**
 * Three-way merge with `theirs`, a version of the memory that is newer than `base`. Returns the draft's value of each
 * field that the draft changes from `base`, and the value in `theirs` of each other field.
 */
export function rebaseDraft(draft: Draft, base: Memory, theirs: Memory): Draft {
  const before = toDraft(base);
  const after = toDraft(theirs);
  return {
    content: draft.content === before.content ? after.content : draft.content,
    tags: draft.tags === before.tags ? after.tags : draft.tags,
    importance: draft.importance === before.importance ? after.importance : draft.importance,
  };
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
