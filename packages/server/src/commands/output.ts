import { once } from 'node:events';
import { EXIT_CODES } from '../exit-codes.ts';
import type { ViewFlags } from './command.ts';
import type { ListedMemory } from './memory-list.ts';
import type { Cell } from './table.ts';

/** Width of a line, in characters, if standard output is not a terminal. */
export const DEFAULT_COLUMNS = 80;

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

/** Prints a list of any length as one JSON value per line. */
export async function printJsonLines(items: AsyncIterable<unknown>): Promise<void> {
  for await (const item of items) await write(`${JSON.stringify(item)}\n`);
}

/** Prints a list of any length: with `--json` as one JSON value per line, else as text for people. */
export async function printEach<Item>(
  flags: { json?: true },
  items: AsyncIterable<Item>,
  { format, none }: ListFormat<Item>,
): Promise<void> {
  if (flags.json) return printJsonLines(items);
  const pending: Item[] = [];
  let count = 0;
  for await (const item of items) {
    count++;
    if (pending.push(item) === MAX_FORMATTED_ITEMS) await write(await format(pending.splice(0)));
  }
  if (pending.length > 0) await write(await format(pending));
  if (count === 0) note(none);
}

/** Returns a function that formats items as a table with one row per item. */
export function asTable<Item>(titles: readonly string[], toRow: (item: Item) => Cell[], flags: ViewFlags) {
  return (items: readonly Item[]) => formatTable(titles, items.map(toRow), flags);
}

/** Returns rows as a table with titles, which fits on the terminal if standard output is one. See `table`. */
export async function formatTable(
  titles: readonly string[],
  rows: readonly (readonly Cell[])[],
  { full }: ViewFlags = {},
): Promise<string> {
  const { table } = await import('./table.ts');
  const { columns, isTTY } = process.stdout;
  return table(titles, rows, { columns: isTTY ? columns : undefined, full });
}

/**
 * Returns a function that formats a list of memories, with texts wrapped to the terminal width. In a pipe, texts are
 * printed in full.
 */
export function asMemories({ ids, full, utc }: ViewFlags & { ids?: true }) {
  return async (memories: readonly ListedMemory[]): Promise<string> => {
    const { formatMemories } = await import('./memory-list.ts');
    const { columns, isTTY } = process.stdout;
    const options = { columns: columns || DEFAULT_COLUMNS, full: full || !isTTY, ids, ...(utc && { utc }) };
    return formatMemories(memories, options);
  };
}

/** Prints a note on standard error, so that standard output contains only the result. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`);
}
