import { isObject } from './fields.ts';

/** An object at the beginning of a JSON file. */
export interface HeadItem {
  /**
   * The field of the document whose array contains the object; `*` if the document is the array; `$` is the document.
   */
  list: string;
  item: Record<string, unknown>;
}

/** Matches a bracket or a string. The last string may have no end. */
const TOKEN = /"(?:[^"\\]|\\[\s\S])*(?:"|$)|[[\]{}]/g;

/** Brackets around the first object of a list in a field of the document, with its own. */
const MAX_ITEM_DEPTH = 3;

/** An open bracket of the first levels. */
interface Bracket {
  isObject: boolean;
  /** The list of the object, if it is one to return. */
  list: string | undefined;
  /** Index of the bracket in the text. */
  start: number;
}

/**
 * Returns the objects by which a JSON file is recognized, from its first characters: the document, or the first of
 * several JSON lines, and the first object of each array of the document. An object that is cut off by the end of the
 * text is absent.
 */
export function readHeadItems(text: string): HeadItem[] {
  if (!/^\s*[[{]/.test(text)) return [];
  const head = new HeadReader(text);
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    head.take(token, index);
    // The rest is another document, such as the next of several JSON lines.
    if (head.depth === 0) break;
  }
  return head.items;
}

/** Finds the objects in one pass, so that the time is proportional to the length also if brackets do not match. */
class HeadReader {
  readonly items: HeadItem[] = [];
  /** Number of open brackets. */
  depth = 0;
  readonly #text: string;
  readonly #open: Bracket[] = [];
  /** The last name of a field of the document. */
  #name = '';
  #previous = '';

  constructor(text: string) {
    this.#text = text;
  }

  take(token: string, index: number): void {
    if (token === '{' || token === '[') this.#begin(token === '{', index);
    else if (token === '}' || token === ']') this.#end(index);
    else if (this.depth === 1 && this.#open[0]?.isObject) this.#name = token.slice(1, -1);
    this.#previous = token;
  }

  #begin(isObject: boolean, start: number): void {
    if (this.depth < MAX_ITEM_DEPTH) this.#open.push({ isObject, start, list: isObject ? this.#getList() : undefined });
    this.depth += 1;
  }

  #end(index: number): void {
    this.depth -= 1;
    const { list, start } = (this.depth < MAX_ITEM_DEPTH ? this.#open.pop() : undefined) ?? {};
    if (list === undefined) return;
    const item = parse(this.#text.slice(start, index + 1));
    if (isObject(item)) this.items.push({ list, item });
  }

  /** Returns the list of an object that begins, if it is the document or the first of a list. */
  #getList(): string | undefined {
    const [outer, inner] = this.#open;
    if (!outer) return '$';
    if (this.#previous !== '[') return undefined;
    if (!inner) return '*';
    return outer.isObject ? this.#name : undefined;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
