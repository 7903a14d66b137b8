import { parse, stringify, TomlError, type TomlTable } from 'smol-toml';
import { ForeignEntry, getLineEnd, UnchangeableFile } from './failures.ts';

/** How a table is undone. */
export interface TomlUndo {
  kind: 'toml';
  table: readonly string[];
  /** The text that was added at the end of the file. */
  added: string;
}

/**
 * Adds a table at the end of the text of a TOML file. All other bytes stay.
 *
 * @returns the text, and how the table is undone; undefined if the text has the table
 * @throws UnchangeableFile for a syntax error, or a parent that is no table
 * @throws ForeignEntry for a table of this name with other values
 */
export function addTomlTable(
  text: string,
  table: readonly string[],
  values: Readonly<Record<string, string>>,
): { text: string; undo: TomlUndo } | undefined {
  const before = parseToml(text);
  const present = getTable(before, table);
  if (present !== undefined && isEqual(present, values)) return undefined;
  const header = `[${table.map(toKey).join('.')}]`;
  if (present !== undefined) {
    throw new ForeignEntry(`${table.join('.')} is a table that connect did not write; it is left as it is`);
  }
  const lineEnd = getLineEnd(text);
  const block = [header, ...stringify(values).trimEnd().split('\n')].join(lineEnd);
  const isBlank = text.trim() === '';
  const endsInLine = text === '' || text.endsWith('\n');
  const gap = isBlank ? '' : endsInLine ? lineEnd : lineEnd + lineEnd;
  const added = (endsInLine ? gap : gap || lineEnd) + block + (endsInLine ? lineEnd : '');
  assertChanged(text + added, before, table, values, header);
  return { text: text + added, undo: { kind: 'toml', table, added } };
}

/** Throws an UnchangeableFile unless the text with the table means what the text without it meant, and the table. */
function assertChanged(
  text: string,
  before: TomlTable,
  table: readonly string[],
  values: Readonly<Record<string, string>>,
  header: string,
): void {
  const failure = `it cannot have a table ${header}; write its parent as a table with a header of its own`;
  let after: TomlTable;
  try {
    after = parse(text);
  } catch {
    throw new UnchangeableFile(failure);
  }
  const isRight = isEqual(getTable(after, table), values) && isSameWithout(before, after, table);
  if (!isRight) throw new UnchangeableFile(failure);
}

/**
 * Removes a table from the text of a TOML file. Changes nothing if the table is missing. All other bytes stay.
 *
 * @throws UnchangeableFile for a syntax error, or if the table cannot be removed alone
 */
export function removeTomlTable(text: string, { table, added }: TomlUndo): string {
  const before = parseToml(text);
  if (getTable(before, table) === undefined) return text;
  const candidates = [removeAdded(text, added), removeLines(text, table)];
  const right = candidates.find((candidate) => candidate !== undefined && isRemoved(candidate, before, table));
  if (right !== undefined) return right;
  throw new UnchangeableFile(`the table ${table.join('.')} has been rewritten; remove it by hand`);
}

function removeAdded(text: string, added: string): string | undefined {
  const at = text.lastIndexOf(added);
  return at < 0 ? undefined : text.slice(0, at) + text.slice(at + added.length);
}

/** Removes the lines from a table's header to the next header, and the same for the tables below it. */
function removeLines(text: string, table: readonly string[]): string {
  let isInside = false;
  let result = '';
  let pending = '';
  for (const line of text.split(/(?<=\n)/)) {
    const header = parseHeader(line);
    if (header !== undefined) {
      isInside = table.every((key, index) => header[index] === key);
      result += isInside ? '' : pending;
      pending = '';
    }
    // Blank lines and comments at the end of the table may belong to the next one.
    if (isInside) pending = header === undefined && /^\s*(#|$)/.test(line) ? pending + line : '';
    else result += line;
  }
  return result + pending;
}

/** Returns the keys of a line with a table header; undefined for another line. */
function parseHeader(line: string): string[] | undefined {
  if (!/^\s*\[/.test(line)) return undefined;
  try {
    return getKeys(parse(line));
  } catch {
    return undefined;
  }
}

function getKeys(table: TomlTable): string[] {
  const [entry] = Object.entries(table);
  if (entry === undefined) return [];
  const [key, value] = entry;
  const inner = Array.isArray(value) ? value[0] : value;
  return [key, ...getKeys(inner as TomlTable)];
}

function isRemoved(text: string, before: TomlTable, table: readonly string[]): boolean {
  try {
    const after = parse(text);
    return getTable(after, table) === undefined && isSameWithout(after, before, table);
  } catch {
    return false;
  }
}

/** Returns whether two values differ in nothing but a table, and in parents of it that are empty otherwise. */
function isSameWithout(a: TomlTable, b: TomlTable, table: readonly string[]): boolean {
  return isEqual(omit(a, table), omit(b, table));
}

/** Returns a copy without a table, and without the parents that are empty then. */
function omit(value: TomlTable, [key = '', ...rest]: readonly string[]): TomlTable {
  const { [key]: child, ...others } = value;
  if (!isTable(child) || rest.length === 0) return rest.length === 0 ? others : value;
  const inner = omit(child, rest);
  return Object.keys(inner).length === 0 ? others : { ...others, [key]: inner };
}

function getTable(root: TomlTable, table: readonly string[]): unknown {
  return table.reduce<unknown>((value, key) => (isTable(value) ? value[key] : undefined), root);
}

function isTable(value: unknown): value is TomlTable {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** Compares by the written form, which tells apart all values of TOML, such as dates and numbers that JSON lacks. */
function isEqual(a: unknown, b: TomlTable): boolean {
  return isTable(a) && stringify(a) === stringify(b);
}

function toKey(key: string): string {
  return /^[\w-]+$/.test(key) ? key : JSON.stringify(key);
}

function parseToml(text: string): TomlTable {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // The rest of the parser's message is dropped, because it quotes the file, which may contain a key.
    throw new UnchangeableFile(`line ${error.line} is not valid TOML`);
  }
}
