import { once } from 'node:events';
import { EXIT_CODES } from '../exit-codes.ts';

let isWatched = false;

/**
 * Writes to standard output; resolved when there is room for more. The process ends where its reader has gone, or the
 * file that it goes into takes no more.
 *
 * @param signal gives up waiting for room
 */
export async function write(text: string, signal?: AbortSignal): Promise<void> {
  const { stdout } = process;
  if (!isWatched) stdout.on('error', end);
  isWatched = true;
  if (!stdout.write(text)) await once(stdout, 'drain', signal ? { signal } : {});
}

function end({ code }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') process.exit(EXIT_CODES.unread.code);
  process.stderr.write(`standard output cannot be written (${code})\n`);
  process.exit(EXIT_CODES.unavailable.code);
}

/** Prints an answer: as JSON where that is asked for, else as a text for people. */
export async function print(
  flags: { json?: true },
  answer: unknown,
  asText: () => string | Promise<string>,
): Promise<void> {
  await write(flags.json ? `${JSON.stringify(answer)}\n` : await asText());
}

/** What is asked for page by page, as it is listed. */
interface Listing<Item> {
  titles: readonly string[];
  row: (item: Item) => (string | number)[];
  /** What is said where there is nothing. */
  none: string;
}

/** Rows that are lined up with each other; a longer list is a table after the other. */
const ROWS_AT_A_TIME = 1000;

/** Prints a list of any length: as JSON an item a line, else as a table. */
export async function printEach<Item>(
  flags: { json?: true },
  items: AsyncIterable<Item>,
  { titles, row, none }: Listing<Item>,
): Promise<void> {
  const rows: (string | number)[][] = [];
  let count = 0;
  for await (const item of items) {
    count++;
    if (flags.json) await write(`${JSON.stringify(item)}\n`);
    else if (rows.push(row(item)) === ROWS_AT_A_TIME) await write(await tableFor(titles, rows.splice(0)));
  }
  if (flags.json) return;
  if (rows.length > 0) await write(await tableFor(titles, rows));
  if (count === 0) note(none);
}

/** A table as standard output shows it: cut to a terminal's width. */
export async function tableFor(
  titles: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): Promise<string> {
  const { table } = await import('./table.ts');
  const { columns, isTTY } = process.stdout;
  return table(titles, rows, isTTY ? columns : undefined);
}

/** Says something to people that is no part of the answer. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`);
}
