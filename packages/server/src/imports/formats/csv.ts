import type { Format, FormatOptions, Part } from '../format.ts';
import {
  assertMap,
  type Columns,
  findColumns,
  hasUsualContent,
  toMappedPart,
  toMissingReason,
  toNoContentReason,
} from '../parsing/map-fields.ts';
import { toUtf8 } from '../parsing/to-utf8.ts';
import { SeenTexts } from '../seen-texts.ts';
import type { SourceFile } from '../source/source.ts';
import { findDelimiter, parseCsvLine, readCsvRows } from './csv-rows.ts';

const NAME = /\.(?:csv|tsv|tab)$/i;
const MAX_NAME_CHARS = 64;
/** The start of a first line of JSON, HTML or Markdown. */
const NO_TABLE = /^\s*(?:[[{<#]|---)/;
/** The line with which Excel names the delimiter. */
const EXCEL_DELIMITER = /^"?sep=(.)"?$/;

/**
 * Tables with a header row, delimited by commas, semicolons, tabs or vertical bars. `map` names the column of each field
 * of a memory; fields that it does not name come from columns with a usual name.
 */
export const csv: Format = {
  name: 'csv',
  title: 'CSV',
  files: 'a table with a header row, such as notes.csv',

  recognizes({ path, text, isWhole }) {
    const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
    const [first = '', second, third] = isWhole ? lines : lines.slice(0, -1);
    if (/^\s*[[{]/.test(first) || text.includes('\0')) return false;
    if (EXCEL_DELIMITER.test(first)) return true;
    const delimiter = findDelimiter(first);
    const names = parseCsvLine(first, delimiter) ?? [];
    if (NAME.test(path)) return names.length > 1 || hasUsualContent(names);
    if (names.length < 2 || !names.every(isColumnName) || second === undefined) return false;
    // A cell in quotes may end on a later line.
    return [second, third].every(
      (line) => line === undefined || (parseCsvLine(line, delimiter)?.length ?? names.length) === names.length,
    );
  },

  /** Accepts a table of one column. Its name may be unusual, because `map` may name it. */
  accepts({ text }) {
    const [first = '', second] = text.split(/\r?\n/).filter((line) => line.trim() !== '');
    if (NO_TABLE.test(first) || text.includes('\0') || second === undefined) return false;
    return parseCsvLine(first, findDelimiter(first))?.every(isColumnName) ?? false;
  },

  async *read(file, options) {
    assertMap(options.map);
    yield* readTable(file, options);
  },
};

function isColumnName(name: string): boolean {
  return name !== '' && name === name.trim() && name.length <= MAX_NAME_CHARS && !/[.!?]$/.test(name);
}

async function* readTable(file: SourceFile, options: FormatOptions): AsyncGenerator<Part> {
  let named: string | undefined;
  let header: Header | undefined;
  const rows = readCsvRows(toUtf8(file.open()), (firstLine) => {
    named = EXCEL_DELIMITER.exec(firstLine)?.[1];
    return named ?? findDelimiter(firstLine);
  });
  for await (const row of rows) {
    const place = `line ${row.line}`;
    if ('refused' in row) {
      yield { kind: 'refused', place, reason: row.refused };
    } else if (named !== undefined && !header && row.cells.join(named).startsWith('sep=')) {
      named = undefined;
    } else if (!header) {
      header = createHeader(row.cells, options.map);
      if (header.problem === undefined) continue;
      yield { kind: 'refused', place, reason: header.problem };
      return;
    } else {
      yield toRowPart(file, place, header, row.cells, options);
    }
  }
}

interface Header {
  /** The texts of the rows so far. */
  seen: SeenTexts;
  names: string[];
  columns: Columns;
  problem?: string;
}

function createHeader(cells: readonly string[], map: FormatOptions['map']): Header {
  const names = cells.map((name) => name.trim());
  const columns = findColumns(names, map);
  const seen = new SeenTexts();
  const missing = Object.values(map).find((column) => !names.includes(column));
  if (missing !== undefined) {
    return { names, columns, seen, problem: toMissingReason('column', missing, names) };
  }
  if (columns.content === undefined) return { names, columns, seen, problem: toNoContentReason('column', names) };
  return { names, columns, seen };
}

function toRowPart(
  file: SourceFile,
  place: string,
  { names, columns, seen }: Header,
  cells: string[],
  options: FormatOptions,
): Part {
  while (cells.length > names.length && cells.at(-1) === '') cells.pop();
  if (cells.length !== names.length) {
    const reason = `the row has ${cells.length} cells, and the header ${names.length}; put text that contains the delimiter in quotes`;
    return { kind: 'refused', place, reason };
  }
  const values: Record<string, unknown> = {};
  // The first of two columns with the same name counts.
  for (const [index, name] of names.entries()) if (!Object.hasOwn(values, name)) values[name] = cells[index];
  return toMappedPart({ format: 'csv', path: file.path, place, values }, columns, options, seen);
}
