import { type Line, readLines } from '../parsing/read-lines.ts';

/** Maximum characters of a row, which are held until its last quote. */
const MAX_ROW_CHARS = 16 * 1024 * 1024;

const DELIMITERS = [',', ';', '\t', '|'] as const;

/** A row of a CSV file, or why its first line cannot be read. `line` is its first line, counted from 1. */
export type CsvRow = { line: number; cells: string[] } | { line: number; refused: string };

/**
 * Reads the rows of CSV (RFC 4180). A cell in quotes may contain line breaks. If a row is broken, its first line is
 * refused, and reading goes on with its second line: a missing quote costs one row. CSV libraries lose all rows up to
 * the next quote. Blank lines between rows are skipped.
 *
 * @param getDelimiter returns the delimiter, given the first line
 */
export async function* readCsvRows(
  bytes: AsyncIterable<Uint8Array>,
  getDelimiter: (firstLine: string) => string,
): AsyncGenerator<CsvRow> {
  let rows: RowReader | undefined;
  for await (const line of readLines(bytes)) {
    if ('refused' in line) {
      if (rows) yield* rows.end(line.refused);
      yield { line: line.number, refused: line.refused };
    } else {
      rows ??= new RowReader(getDelimiter(line.text));
      yield* rows.add(line);
    }
  }
  if (rows) yield* rows.end('a quote is not closed');
}

/** Returns the cells of one line; undefined if the line is not a complete row. */
export function parseCsvLine(text: string, delimiter: string): string[] | undefined {
  const row = new PendingRow(delimiter);
  return row.add({ number: 1, text }) === 'complete' ? row.cells : undefined;
}

/** Returns the delimiter that gives the most cells in a line. */
export function findDelimiter(line: string): string {
  const counts = DELIMITERS.map((delimiter) => parseCsvLine(line, delimiter)?.length ?? 0);
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ',';
}

type TextLine = Extract<Line, { text: string }>;

class RowReader {
  readonly #delimiter: string;
  #row: PendingRow;

  constructor(delimiter: string) {
    this.#delimiter = delimiter;
    this.#row = new PendingRow(delimiter);
  }

  *add(line: TextLine): Generator<CsvRow> {
    const next = [line];
    for (let text = next.pop(); text; text = next.pop()) {
      const state = this.#row.add(text);
      if (state === 'open') continue;
      const [first = line, ...others] = this.#row.lines;
      if (state === 'complete') yield { line: first.number, cells: this.#row.cells };
      else {
        yield { line: first.number, refused: state.refused };
        for (const other of others.reverse()) next.push(other);
      }
      this.#row = new PendingRow(this.#delimiter);
    }
  }

  /** Refuses the first line of a row that has no end, and reads its other lines as rows. */
  *end(reason: string): Generator<CsvRow> {
    for (let [first, ...others] = this.#row.lines; first; [first, ...others] = this.#row.lines) {
      yield { line: first.number, refused: reason };
      this.#row = new PendingRow(this.#delimiter);
      for (const other of others) yield* this.add(other);
    }
  }
}

/** A row until its end is known. */
class PendingRow {
  readonly cells: string[] = [];
  readonly lines: TextLine[] = [];
  readonly #delimiter: string;
  /** The text of the cell whose quote is open. */
  #quoted: string | undefined;
  #charCount = 0;

  constructor(delimiter: string) {
    this.#delimiter = delimiter;
  }

  add(line: TextLine): 'open' | 'complete' | { refused: string } {
    // The reader skips blank lines. Inside quotes, they belong to the cell.
    const breakCount = line.number - (this.lines.at(-1)?.number ?? line.number);
    this.lines.push(line);
    this.#charCount += breakCount + line.text.length;
    if (this.#charCount > MAX_ROW_CHARS) return { refused: `the row is longer than ${MAX_ROW_CHARS} characters` };
    if (this.#quoted !== undefined) this.#quoted += '\n'.repeat(breakCount);
    for (let at = 0; ; ) {
      const next = this.#quoted === undefined ? this.#readCell(line.text, at) : this.#readQuoted(line.text, at);
      if (typeof next !== 'number') return next;
      at = next;
    }
  }

  /** Returns where the next cell begins. */
  #readCell(text: string, start: number): number | 'complete' {
    let at = start;
    while (text[at] === ' ') at++;
    if (text[at] === '"') {
      this.#quoted = '';
      return at + 1;
    }
    const end = text.indexOf(this.#delimiter, start);
    this.cells.push(end < 0 ? text.slice(start) : text.slice(start, end));
    return end < 0 ? 'complete' : end + 1;
  }

  #readQuoted(text: string, start: number): number | 'open' | 'complete' | { refused: string } {
    const end = text.indexOf('"', start);
    if (end < 0) {
      this.#quoted += text.slice(start);
      return 'open';
    }
    this.#quoted += text.slice(start, end);
    if (text[end + 1] === '"') {
      this.#quoted += '"';
      return end + 2;
    }
    this.cells.push(this.#quoted ?? '');
    this.#quoted = undefined;
    let at = end + 1;
    while (text[at] === ' ') at++;
    if (at === text.length) return 'complete';
    if (text.startsWith(this.#delimiter, at)) return at + 1;
    return { refused: `cell ${this.cells.length} goes on after its closing quote; write a quote in a cell as ""` };
  }
}
