import { styleText } from 'node:util';
import stringWidth from 'string-width';
import { shown } from './shown.ts';

const ELLIPSIS = '…';
const GAP = 2;
/** The last column is never cut to less, so that a narrow terminal wraps it. */
const MIN_CUT_COLUMNS = 20;

/**
 * Columns of text under their titles, for people to read on standard output: what a terminal would obey is shown instead.
 *
 * @param columns of the terminal, to which the last column is cut; it is not cut where they are absent
 */
export function table(
  titles: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  columns?: number,
): string {
  const lines = [titles, ...rows].map((row) => row.map((cell) => shown(String(cell))));
  const widths = titles.map((_, column) => Math.max(...lines.map((row) => stringWidth(row[column] ?? ''))));
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + GAP, 0);
  const most = columns === undefined ? Number.POSITIVE_INFINITY : Math.max(columns - before, MIN_CUT_COLUMNS);
  const printed = lines.map((row) =>
    row.map((cell, i) => (i < titles.length - 1 ? padded(cell, widths[i]) : cut(cell, most))),
  );
  return printed.map((row, i) => `${emphasized(row.join(' '.repeat(GAP)).trimEnd(), i === 0)}\n`).join('');
}

function padded(cell: string, width = 0): string {
  return cell + ' '.repeat(Math.max(0, width - stringWidth(cell)));
}

function cut(cell: string, most: number): string {
  if (stringWidth(cell) <= most) return cell;
  let width = 0;
  let kept = '';
  for (const { segment } of new Intl.Segmenter().segment(cell)) {
    width += stringWidth(segment);
    if (width > most - 1) break;
    kept += segment;
  }
  return kept + ELLIPSIS;
}

// Bold on a terminal alone, and not where somebody said NO_COLOR: that is for styleText to see to.
function emphasized(line: string, isEmphasized: boolean): string {
  return isEmphasized ? styleText('bold', line) : line;
}
