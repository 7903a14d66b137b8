import { getLineEnd } from './failures.ts';

/** How a line is undone. */
export interface LineUndo {
  kind: 'line';
  line: string;
  /** The text that was added at the end of the file. */
  added: string;
}

/** Adds a line at the end of a text. Returns the text, and how the line is undone; undefined if the text has the line. */
export function addLine(text: string, line: string): { text: string; undo: LineUndo } | undefined {
  if (text.split(/\r?\n/).includes(line)) return undefined;
  const lineEnd = getLineEnd(text);
  const added = text === '' || text.endsWith('\n') ? line + lineEnd : lineEnd + line;
  return { text: text + added, undo: { kind: 'line', line, added } };
}

/** Removes a line. Changes nothing if the line is missing. */
export function removeLine(text: string, { line, added }: LineUndo): string {
  if (text.endsWith(added)) return text.slice(0, -added.length);
  const lines = text.split(/(?<=\n)/);
  const index = lines.findLastIndex((each) => each.replace(/\r?\n$/, '') === line);
  return lines.filter((_, position) => position !== index).join('');
}
