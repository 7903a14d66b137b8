import { isObject } from './fields.ts';

/** An object at the beginning of a JSON file. */
export interface HeadItem {
  /** The field of the document whose array contains the object; `*` if the document is the array; `$` is the document. */
  list: string;
  item: Record<string, unknown>;
}

/** A string, of which the last may have no end, or a bracket. */
const TOKEN = /"(?:[^"\\]|\\[\s\S])*(?:"|$)|[[\]{}]/g;

interface Token {
  text: string;
  at: number;
}

/**
 * Returns the objects by which a JSON file is recognized, from its first characters: the document, or the first of
 * several JSON lines, and the first object of each array of the document. An object that goes on after the text is absent.
 */
export function readHeadItems(text: string): HeadItem[] {
  if (!/^\s*[[{]/.test(text)) return [];
  const tokens = Array.from(text.matchAll(TOKEN), (match): Token => ({ text: match[0], at: match.index }));
  const items: HeadItem[] = [];
  let open = '';
  let name = '';
  for (const [index, token] of tokens.entries()) {
    if (token.text.startsWith('"')) {
      if (open === '{') name = token.text.slice(1, -1);
      continue;
    }
    open = /[[{]/.test(token.text) ? open + token.text : open.slice(0, -1);
    // The rest is another document, such as the next of several JSON lines.
    if (open === '') break;
    items.push(...toItems(getList(open, tokens, index, name), text, tokens, index));
  }
  return items;
}

function toItems(list: string | undefined, text: string, tokens: readonly Token[], index: number): HeadItem[] {
  const item = list === undefined ? undefined : parseObject(text, tokens, index);
  return list !== undefined && item ? [{ list, item }] : [];
}

/** Returns the list of an object that is the document, or the first of a list. */
function getList(open: string, tokens: readonly Token[], index: number, name: string): string | undefined {
  if (open === '{' && index === 0) return '$';
  if (tokens[index]?.text !== '{' || tokens[index - 1]?.text !== '[') return undefined;
  if (open === '[{') return '*';
  return open === '{[{' ? name : undefined;
}

function parseObject(text: string, tokens: readonly Token[], first: number): Record<string, unknown> | undefined {
  let depth = 0;
  for (let index = first; index < tokens.length; index++) {
    const { text: token = '', at = 0 } = tokens[index] ?? {};
    if (token === '{') depth++;
    if (token !== '}' || --depth > 0) continue;
    const value = parse(text.slice(tokens[first]?.at, at + 1));
    return isObject(value) ? value : undefined;
  }
  return undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
