import {
  type FileImportResponse,
  formatCount,
  type ImportPreview,
  LIMITS,
  type PreviewedText,
} from '@memoryd/contract';
import { type TimeFlags, toShortTime } from './local-time.ts';
import { toPrintable } from './printable.ts';
import { wrap } from './table.ts';

/** Items that cannot be read or stored. */
type Refusals = Pick<FileImportResponse, 'refused_count' | 'refused'>;

/** A preview, with the items that cannot be read. */
export type ReportedPreview = ImportPreview & Refusals;

export interface ReportOptions extends TimeFlags {
  /** The name of the format, such as `ChatGPT export`. */
  title: string;
  /** Width of a line, in columns. */
  columns: number;
}

const INDENT = '  ';
const DAY_CHARS = 'YYYY-MM-DD'.length;
/** Lines are wrapped at this width, or wider, even if the terminal is narrower. */
const MIN_LINE_COLUMNS = 20;

/** Returns the lines that show what a file contains, what is left out, and why. Escapes control characters. */
export function formatPreview(preview: ReportedPreview, options: ReportOptions): string {
  const { first, left_out, users } = preview;
  const items = first.map((text) => formatText(text, options));
  const more = preview.found_count - first.length;
  const lines = [
    `${toTitle(options.title)}: ${formatContent(preview, options)}`,
    ...items,
    ...(more > 0 && first.length > 0 ? [`${INDENT}and ${more} more`] : []),
    ...toSection(
      'Left out:',
      left_out.map(({ reason, count }) => `${reason}: ${count}`),
    ),
    ...toSection('Users in the file:', users === undefined ? [] : wrap(users.join(', '), getWidth(options))),
    ...formatRefused(preview),
  ];
  return toLines(lines);
}

/** Returns a title as the start of a line. */
function toTitle(title: string): string {
  return title.slice(0, 1).toUpperCase() + title.slice(1);
}

function formatContent({ found_count, session_count, first_at, last_at }: ImportPreview, flags: TimeFlags): string {
  if (found_count === 0) return 'nothing to store';
  const memories = formatCount(found_count, 'memory', 'memories');
  const isCounted = session_count < LIMITS.countedSessions;
  const sessions =
    session_count === 0 ? '' : ` in ${formatCount(session_count, 'session')}${isCounted ? '' : ' or more'}`;
  return `${memories}${sessions}${formatPeriod(first_at, last_at, flags)}`;
}

/** Returns the first and the last day, so that the line fits into 80 columns. */
function formatPeriod(firstAt: string | undefined, lastAt: string | undefined, flags: TimeFlags): string {
  if (firstAt === undefined || lastAt === undefined) return '';
  const first = toShortTime(firstAt, flags).slice(0, DAY_CHARS);
  const last = toShortTime(lastAt, flags).slice(0, DAY_CHARS);
  return first === last ? `, dated ${first}` : `, from ${first} to ${last}`;
}

/** Returns the time and the beginning of a text as one line. */
function formatText({ content, created_at }: PreviewedText, options: ReportOptions): string {
  const start = created_at ? `${toShortTime(created_at, options)}  ` : '';
  const text = content.trim().replaceAll(/\s+/g, ' ');
  const width = getWidth(options, start.length);
  const [line = '', ...rest] = wrap(text, width);
  return INDENT + start + (rest.length === 0 ? line : `${wrap(text, width - 1)[0]}…`);
}

/** Returns the columns that an indented line has after its start. */
function getWidth({ columns }: ReportOptions, startColumns = 0): number {
  return Math.max(columns - INDENT.length - startColumns, MIN_LINE_COLUMNS);
}

function toSection(title: string, items: readonly string[]): string[] {
  return items.length === 0 ? [] : [title, ...items.map((item) => INDENT + item)];
}

/** Returns the items that could not be read or stored, with their places. */
function formatRefused({ refused_count, refused }: Refusals): string[] {
  const items = refused.map(({ place, error }) => `${toPrintable(place)}: ${toPrintable(error.message)}`);
  const more = refused_count - refused.length;
  return toSection('Refused:', [...items, ...(more > 0 ? [`and ${more} more`] : [])]);
}

/**
 * Returns the lines about a finished import.
 *
 * @param shown the preview, whose refused items are not listed again
 */
export function formatResult(result: FileImportResponse, shown: Refusals, undoCommand: string): string {
  const { imported_count, updated_count, unchanged_count, refused_count, redacted = [] } = result;
  const secrets = redacted.map(({ kind, count }) => `${count} ${toPrintable(kind)}`);
  const others = {
    refused_count: refused_count - shown.refused_count,
    refused: result.refused.slice(shown.refused.length),
  };
  const lines = [
    `imported ${imported_count}, updated ${updated_count}, unchanged ${unchanged_count}, refused ${refused_count}`,
    ...(secrets.length === 0 ? [] : [`removed secrets: ${secrets.join(', ')}`]),
    ...formatRefused(others),
    ...(imported_count + updated_count > 0 ? [`undo: ${undoCommand}`] : []),
  ];
  return toLines(lines);
}

function toLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}
