import { type SourceFile, UnreadableFile } from '../source/source.ts';
import { isObject, isWithinDepth } from './fields.ts';
import { readHeadItems } from './json-head.ts';
import { readJsonValues } from './read-json.ts';
import { readLines } from './read-lines.ts';
import { toUtf8 } from './to-utf8.ts';

/** An object of a JSON file, or why it cannot be read. `place` is a line or the number of an item. */
export type JsonItem =
  | { place: string; list: string; item: Record<string, unknown> }
  | { place: string; refused: string };

/**
 * Reads the objects of a file in their order: of JSON lines, of a JSON array, or of arrays in fields of a JSON object.
 * `list` is the field; `*` for lines and for an array that is the document.
 *
 * @param lists the fields that contain arrays; a document that is one object without these fields is JSON lines
 */
export async function* readJsonItems(file: SourceFile, lists: readonly string[] = []): AsyncGenerator<JsonItem> {
  if (await isDocument(file, lists)) yield* readDocument(file, lists);
  else yield* readItemLines(file);
}

async function* readDocument(file: SourceFile, lists: readonly string[]): AsyncGenerator<JsonItem> {
  const places = ['*', ...lists.map((list) => `${list}.*`)];
  for await (const found of readJsonValues(toUtf8(file.open()), places)) {
    const list = found.place.replace(/\.\*$/, '');
    const place = `${list === '*' ? 'item' : list} ${found.number}`;
    if ('refused' in found) yield { place, refused: found.refused };
    else yield toItem(place, list, found.value);
  }
}

async function* readItemLines(file: SourceFile): AsyncGenerator<JsonItem> {
  for await (const line of readLines(toUtf8(file.open()))) {
    const place = `line ${line.number}`;
    if ('refused' in line) yield { place, refused: line.refused };
    else yield parseLine(place, line.text);
  }
}

function parseLine(place: string, text: string): JsonItem {
  try {
    return toItem(place, '*', JSON.parse(text));
  } catch {
    return { place, refused: 'the line is not valid JSON' };
  }
}

function toItem(place: string, list: string, item: unknown): JsonItem {
  if (!isObject(item)) return { place, refused: 'the item must be a JSON object' };
  if (isWithinDepth(item, MAX_DEPTH)) return { place, list, item };
  return { place, refused: `the item must have at most ${MAX_DEPTH} levels of objects and arrays` };
}

/** Maximum levels of an item. Deeper items would overflow the stack when their values are written as JSON. */
const MAX_DEPTH = 1000;

/** Characters that are enough for the first item, such as a fact with the numbers of its vector. */
const MAX_HEAD_CHARS = 1024 * 1024;

/** Returns whether a file is one JSON document, not JSON lines. */
async function isDocument(file: SourceFile, lists: readonly string[]): Promise<boolean> {
  const text = (await readHead(file)).trimStart();
  if (text.startsWith('[')) return true;
  if (readHeadItems(text).some(({ list }) => lists.includes(list))) return true;
  // Without a whole object in a line, the file is a document in several lines, or its lists come later.
  return lists.length > 0 && text.startsWith('{') && !text.split('\n').some(isObjectLine);
}

async function readHead(file: SourceFile): Promise<string> {
  const decoder = new TextDecoder();
  let head = '';
  try {
    for await (const chunk of toUtf8(file.open())) {
      head += decoder.decode(chunk, { stream: true });
      if (head.length > MAX_HEAD_CHARS) break;
    }
  } catch (error) {
    // The pass that reads the items refuses the rest of the file.
    if (!(error instanceof UnreadableFile)) throw error;
  }
  return head;
}

function isObjectLine(line: string): boolean {
  if (!line.startsWith('{')) return false;
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
