import type { Memory, UpdateRequest } from '@memoryd/client';

/** The contents of the form that edits a memory. */
export interface Draft {
  content: string;
  /** Separated by commas. */
  tags: string;
  importance: string;
}

/** Edits that are not saved yet. */
export interface UnsavedDraft {
  draft: Draft;
  /** The version of the memory that the edits apply to. */
  base: Memory;
}

export function toDraft({ content, tags, importance }: Memory): Draft {
  return { content: normalizeLineEnds(content), tags: formatTags(tags), importance: String(importance) };
}

/** Returns the fields of a memory that a draft changes; undefined if it changes none. */
export function getChange(base: Memory, draft: Draft): UpdateRequest | undefined {
  const before = toDraft(base);
  const change: UpdateRequest = {
    ...(draft.content !== before.content && { content: restoreLineEnds(base.content, draft.content) }),
    ...(draft.tags !== before.tags && { tags: parseTags(draft.tags) }),
    ...(draft.importance !== before.importance && { importance: Number(draft.importance) }),
  };
  return Object.keys(change).length > 0 ? change : undefined;
}

/** Applies a draft of `base` to `theirs`, a newer version of the same memory. Fields the draft left alone come from it. */
export function rebaseDraft(draft: Draft, base: Memory, theirs: Memory): Draft {
  const before = toDraft(base);
  const after = toDraft(theirs);
  return {
    content: draft.content === before.content ? after.content : draft.content,
    tags: draft.tags === before.tags ? after.tags : draft.tags,
    importance: draft.importance === before.importance ? after.importance : draft.importance,
  };
}

/** Returns a text as a textarea does: every line ends in a line feed. */
const normalizeLineEnds = (text: string): string => text.replace(/\r\n?/g, '\n');

/** Restores line ends in an edited text: unchanged lines keep theirs, changed lines get the first kind in `before`. */
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
  // With mixed line ends, a CR and an LF that meet would become one line end.
  return normalizeLineEnds(text) === edited ? text : edited;
}

/** Splits a text into lines that include their line ends. */
const getLines = (text: string): string[] => text.split(/(?<=\n|\r(?!\n))/);

/** Formats tags as one line. A tag that commas, quotes or spaces would break is quoted as in JSON. */
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
    // The quote is part of the tag.
    return piece;
  }
}
