import { once } from 'node:events';
import { EXIT_CODES } from '../exit-codes.ts';
import type { ListedMemory } from './memory-list.ts';

/** Width of a line, in characters, if standard output is not a terminal. */
const DEFAULT_COLUMNS = 80;

let isWatched = false;

/**
 * Writes to standard output. Resolves when the stream can accept more data. Exits the process if the reader has closed
 * the pipe, or the file cannot be written.
 *
 * @param signal aborts the wait until the stream can accept more data
 */
export async function write(text: string, signal?: AbortSignal): Promise<void> {
  const { stdout } = process;
  if (!isWatched) stdout.on('error', end);
  isWatched = true;
  if (!stdout.write(text)) await once(stdout, 'drain', signal ? { signal } : {});
}

function end({ code }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') process.exit(EXIT_CODES.closedPipe.code);
  process.stderr.write(`standard output cannot be written (${code})\n`);
  process.exit(EXIT_CODES.unavailable.code);
}

/** Prints a result: as JSON with `--json`, else as text for people. */
export async function print(
  flags: { json?: true },
  result: unknown,
  asText: () => string | Promise<string>,
): Promise<void> {
  await write(flags.json ? `${JSON.stringify(result)}\n` : await asText());
}

/** The human-readable format of a list. */
interface ListFormat<Item> {
  format: (items: readonly Item[]) => Promise<string>;
  /** The note for an empty list. */
  none: string;
}

/** Maximum number of items that are formatted as one block. In a longer list, each block has its own column widths. */
const MAX_FORMATTED_ITEMS = 1000;

/** Prints a list of any length: with `--json` as one JSON value per line, else as text for people. */
export async function printEach<Item>(
  flags: { json?: true },
  items: AsyncIterable<Item>,
  { format, none }: ListFormat<Item>,
): Promise<void> {
  const pending: Item[] = [];
  let count = 0;
  for await (const item of items) {
    count++;
    if (flags.json) await write(`${JSON.stringify(item)}\n`);
    else if (pending.push(item) === MAX_FORMATTED_ITEMS) await write(await format(pending.splice(0)));
  }
  if (flags.json) return;
  if (pending.length > 0) await write(await format(pending));
  if (count === 0) note(none);
}

/** Returns a function that formats items as a table with one row per item. */
export function asTable<Item>(titles: readonly string[], toRow: (item: Item) => (string | number)[]) {
  return (items: readonly Item[]) => formatTable(titles, items.map(toRow));
}

/**
 * Returns rows as a table with titles. If standard output is a terminal, cuts the last column so that the lines fit.
 * See `table`.
 */
export async function formatTable(
  titles: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): Promise<string> {
  const { table } = await import('./table.ts');
  const { columns, isTTY } = process.stdout;
  return table(titles, rows, isTTY ? columns : undefined);
}

/** Returns a function that formats a list of memories, with texts wrapped to the terminal width. */
export function asMemories({ ids }: { ids?: true }) {
  return async (memories: readonly ListedMemory[]): Promise<string> => {
    const { formatMemories } = await import('./memory-list.ts');
    return formatMemories(memories, { columns: process.stdout.columns || DEFAULT_COLUMNS, ids });
  };
}

/** Prints a note on standard error, so that standard output contains only the result. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`);
}
