import { styleText } from 'node:util';
import stringWidth from 'string-width';
import { toPrintable } from './printable.ts';

const ELLIPSIS = '…';
const GAP = 2;
/** Minimum width to which the last column is cut. If the terminal is too narrow for this width, lines wrap. */
const MIN_CUT_COLUMNS = 20;

/**
 * Returns rows as columns of text under titles, for people to read on standard output. Control characters are escaped.
 *
 * @param columns width of the terminal; the last column is cut so that lines fit. If undefined, nothing is cut.
 */
export function table(
  titles: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  columns?: number,
): string {
  const lines = [titles, ...rows].map((row) => row.map((cell) => toPrintable(String(cell))));
  const widths = titles.map((_, column) => Math.max(...lines.map((row) => stringWidth(row[column] ?? ''))));
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + GAP, 0);
  const max = columns === undefined ? Number.POSITIVE_INFINITY : Math.max(columns - before, MIN_CUT_COLUMNS);
  const printed = lines.map((row) =>
    row.map((cell, i) => (i < titles.length - 1 ? padRight(cell, widths[i]) : cutRight(cell, max))),
  );
  return printed.map((row, i) => `${styleTitles(row.join(' '.repeat(GAP)).trimEnd(), i === 0)}\n`).join('');
}

function padRight(cell: string, width = 0): string {
  return cell + ' '.repeat(Math.max(0, width - stringWidth(cell)));
}

function cutRight(cell: string, maxWidth: number): string {
  if (stringWidth(cell) <= maxWidth) return cell;
  const [start = ''] = splitByWidth(cell, maxWidth - 1);
  return start + ELLIPSIS;
}

/**
 * Splits a text into pieces of at most `maxWidth` columns. Never splits a character: a character that is wider than
 * `maxWidth` becomes a piece of its own.
 */
export function* splitByWidth(text: string, maxWidth: number): Generator<string> {
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

// `styleText` returns the line unchanged if standard output does not support colors, for example in a pipe or with
// NO_COLOR.
function styleTitles(line: string, areTitles: boolean): string {
  return areTitles ? styleText('bold', line) : line;
}
