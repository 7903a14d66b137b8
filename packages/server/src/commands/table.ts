import { styleText } from 'node:util';
import stringWidth from 'string-width';
import { toPrintable } from './printable.ts';

const GAP = 2;
/** Minimum width of the text column, so that an id fits on a line. */
const MIN_TEXT_COLUMNS = 36;
/** Maximum lines of a text, unless it is printed in full. */
const MAX_TEXT_LINES = 3;

/** A text that is wrapped, and of which at most three lines are shown, and below it words that are all shown. */
interface TextCell {
  text?: string;
  /** Such as ids: never cut, and broken only at spaces. */
  words?: string;
}

/** Only the last cell of a row can be a `TextCell`. Any other cell is printed on one line, and never cut. */
export type Cell = string | number | TextCell;

export interface TableOptions {
  /** Width of the terminal; if undefined, nothing is wrapped or cut. */
  columns?: number | undefined;
  /** Whether texts are printed in full. */
  full?: boolean | undefined;
}

/**
 * Returns rows as columns of text under titles, for people to read on standard output. If the columns do not fit on the
 * terminal, returns a block of lines for each row, with a title in front of each cell. Control characters are escaped.
 */
export function table(
  titles: readonly string[],
  rows: readonly (readonly Cell[])[],
  { columns, full }: TableOptions = {},
): string {
  const fixed = rows.map((row) => row.map((cell) => (isText(cell) ? '' : toPrintable(String(cell)))));
  const widths = titles.map((title, i) => getMaxWidth([title, ...fixed.map((row) => row[i] ?? '')]));
  const hasText = rows.some((row) => row.some(isText));
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + GAP, 0);
  const last = Math.max(widths.at(-1) ?? 0, hasText ? MIN_TEXT_COLUMNS : 0);
  if (columns !== undefined && before + last > columns) return toBlocks(titles, rows, { columns, full });
  const lines = rows.flatMap((row, r) => {
    const cells = toLines(row.at(-1) ?? '', { columns: columns && columns - before, full });
    return cells.map((line, n) => {
      const start = titles.slice(0, -1).map((_, i) => padRight(n === 0 ? (fixed[r]?.[i] ?? '') : '', widths[i]));
      return [...start, line].join(' '.repeat(GAP));
    });
  });
  const head = titles.map((title, i) => padRight(title, widths[i])).join(' '.repeat(GAP));
  return [styleText('bold', head.trimEnd()), ...lines].map((line) => `${line.trimEnd()}\n`).join('');
}

/** Returns a block of lines for each row, without empty cells, and an empty line between blocks. */
function toBlocks(titles: readonly string[], rows: readonly (readonly Cell[])[], options: TableOptions): string {
  const width = getMaxWidth(titles);
  const columns = Math.max((options.columns ?? 0) - width - GAP, 1);
  const blocks = rows.map((row) =>
    row.flatMap((cell, i) =>
      (cell === '' ? [] : toLines(cell, { ...options, columns })).map((line, n) => {
        const title = padRight(n === 0 ? (titles[i] ?? '') : '', width);
        return `${(styleText('bold', title) + ' '.repeat(GAP) + line).trimEnd()}\n`;
      }),
    ),
  );
  return blocks.map((block) => block.join('')).join('\n');
}

/** Returns the lines of a cell. A cell without a `TextCell` is one line, which may be wider than the column. */
function toLines(cell: Cell, { columns, full }: TableOptions): string[] {
  if (!isText(cell)) return [toPrintable(String(cell))];
  const { text, words } = cell;
  if (columns === undefined) return [toPrintable([text, words].filter((part) => part).join(' '))];
  const shown = text === undefined ? [] : limitLines(wrap(text, columns), { full });
  return [...shown, ...(words ? wrapWords(toPrintable(words).split(' '), columns) : [])];
}

/** Returns at most three lines of a text, and the number of further lines, unless the text is printed in full. */
export function limitLines(lines: readonly string[], { full }: Pick<TableOptions, 'full'>): string[] {
  if (full || lines.length <= MAX_TEXT_LINES) return [...lines];
  const more = lines.length - MAX_TEXT_LINES;
  return [...lines.slice(0, MAX_TEXT_LINES), `… (+${more} ${more === 1 ? 'line' : 'lines'}, --full)`];
}

function isText(cell: Cell): cell is TextCell {
  return typeof cell === 'object';
}

function getMaxWidth(texts: readonly string[]): number {
  return Math.max(...texts.map((text) => stringWidth(text)));
}

function padRight(cell: string, width = 0): string {
  return cell + ' '.repeat(Math.max(0, width - stringWidth(cell)));
}

/**
 * Wraps one line of text to at most `width` columns: breaks at spaces, and within words that are wider than a line.
 * Escapes control characters.
 */
export function wrap(text: string, width: number): string[] {
  const words = toPrintable(text)
    .split(/ (?! )/)
    .flatMap((word) => (stringWidth(word) <= width ? [word] : [...splitByWidth(word, width)]));
  return wrapWords(words, width);
}

function wrapWords(words: readonly string[], width: number): string[] {
  const lines: string[] = [];
  let line: string | undefined;
  let lineWidth = 0;
  for (const word of words) {
    const wordWidth = stringWidth(word);
    if (line !== undefined && lineWidth + 1 + wordWidth <= width) {
      line += ` ${word}`;
      lineWidth += 1 + wordWidth;
    } else {
      if (line !== undefined) lines.push(line);
      [line, lineWidth] = [word, wordWidth];
    }
  }
  return [...lines, line ?? ''];
}

/**
 * Splits a text into pieces of at most `maxWidth` columns. Never splits a character: a character that is wider than
 * `maxWidth` becomes a piece of its own.
 */
function* splitByWidth(text: string, maxWidth: number): Generator<string> {
  let width = 0;
  let piece = '';
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    const segmentWidth = stringWidth(segment);
    if (piece !== '' && width + segmentWidth > maxWidth) {
      yield piece;
      [piece, width] = ['', 0];
    }
    piece += segment;
    width += segmentWidth;
  }
  yield piece;
}
