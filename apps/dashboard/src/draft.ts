import type { Memory, UpdateRequest } from '@memoryd/client';

/** What somebody writes into the form that changes a memory. */
export interface Draft {
  content: string;
  /** As people write them: with commas between them. */
  tags: string;
  importance: string;
}

/** What somebody has written and not saved. */
export interface Unsaved {
  draft: Draft;
  /** The memory that it is a change of. */
  base: Memory;
}

export function toDraft({ content, tags, importance }: Memory): Draft {
  return { content: asTyped(content), tags: writtenTags(tags), importance: String(importance) };
}

/** What a draft changes of a memory; undefined where it changes nothing. */
export function getChange(base: Memory, draft: Draft): UpdateRequest | undefined {
  const before = toDraft(base);
  const change: UpdateRequest = {
    ...(draft.content !== before.content && { content: withLineEnds(base.content, draft.content) }),
    ...(draft.tags !== before.tags && { tags: readTags(draft.tags) }),
    ...(draft.importance !== before.importance && { importance: Number(draft.importance) }),
  };
  return Object.keys(change).length > 0 ? change : undefined;
}

/** A draft that was a change of `base`, as a change of what somebody else made of it: only what it changes stays. */
export function rebased(draft: Draft, base: Memory, theirs: Memory): Draft {
  const before = toDraft(base);
  const after = toDraft(theirs);
  return {
    content: draft.content === before.content ? after.content : draft.content,
    tags: draft.tags === before.tags ? after.tags : draft.tags,
    importance: draft.importance === before.importance ? after.importance : draft.importance,
  };
}

/** A text as a form gives it back: there every line ends in a line feed. */
const asTyped = (text: string): string => text.replace(/\r\n?/g, '\n');

/** A typed text, with the line ends of the one that it was: its own in lines that stayed, in others the first of them. */
function withLineEnds(before: string, typed: string): string {
  const were = getLines(before);
  const are = getLines(typed);
  const shorter = Math.min(were.length, are.length);
  const stayed = (i: number) => asTyped(were.at(i) ?? '') === are.at(i);
  let head = 0;
  while (head < shorter && stayed(head)) head++;
  let tail = 0;
  while (tail < shorter - head && stayed(-1 - tail)) tail++;
  const usual = /\r\n?|\n/.exec(before)?.[0] ?? '\n';
  const changed = are.slice(head, are.length - tail).map((line) => line.replace('\n', usual));
  const text = [...were.slice(0, head), ...changed, ...were.slice(were.length - tail)].join('');
  // Where several kinds of ends are mixed, two of them may have become one.
  return asTyped(text) === typed ? text : typed;
}

/** The lines of a text, each with its end. */
const getLines = (text: string): string[] => text.split(/(?<=\n|\r(?!\n))/);

/** Tags as one line; a tag that a comma or a quote would take apart stands in quotes, as in JSON. */
export function writtenTags(tags: readonly string[]): string {
  return tags.map((tag) => (/^"|[,\n\r]|^\s|\s$/.test(tag) ? JSON.stringify(tag) : tag)).join(', ');
}

/** The tags of a line, as `writtenTags` writes it and as people do. */
export function readTags(text: string): string[] {
  const pieces = text.match(/\s*("(?:[^"\\]|\\.)*"(?=\s*(?:,|$))|[^,]+)/g) ?? [];
  return pieces.map((piece) => unquoted(piece.trim())).filter((tag) => tag !== '');
}

function unquoted(piece: string): string {
  if (!piece.startsWith('"')) return piece;
  try {
    return JSON.parse(piece) as string;
  } catch {
    // A quote that somebody typed and means.
    return piece;
  }
}
