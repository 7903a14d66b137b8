import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { getLine, UnchangeableFile } from './failures.ts';

/** Maximum nesting of a file, far more than settings have. The parser is recursive. */
const MAX_DEPTH = 200;

/**
 * Parses JSON with comments and trailing commas. Returns undefined for a text of white space and comments.
 *
 * @throws UnchangeableFile that names the line of a syntax error, or a root that is no object
 */
export function parseJson(text: string): Node | undefined {
  if (skipTrivia(text, 0) === text.length) return undefined;
  assertShallow(text);
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error) {
    const problem = printParseErrorCode(error.error)
      .replace(/(?<=[a-z])([A-Z])/g, ' $1')
      .toLowerCase();
    throw new UnchangeableFile(`line ${getLine(text, error.offset)} is not valid JSON (${problem})`);
  }
  if (root?.type !== 'object') throw new UnchangeableFile('line 1 must begin a JSON object');
  return root;
}

function assertShallow(text: string): void {
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    const char = text[index];
    if (char === '{' || char === '[') depth++;
    else if (char === '}' || char === ']') depth--;
    if (depth > MAX_DEPTH) throw new UnchangeableFile(`line ${getLine(text, index)} is nested too deeply`);
  }
}

/** Returns the property node with a key. Of several, returns the last one, which parsers of JSON take. */
export function findProperty(object: Node, key: string): Node | undefined {
  return object.children?.findLast(({ children }) => children?.[0]?.value === key);
}

/** Returns the value node at a path of keys. */
export function findValue(root: Node | undefined, path: readonly string[]): Node | undefined {
  let node = root;
  for (const key of path) {
    if (node?.type !== 'object') return undefined;
    node = findProperty(node, key)?.children?.[1];
  }
  return node;
}

/** Returns the end of the comments that begin on the line of an offset; the offset itself if there are none. */
export function getCommentsEnd(text: string, offset: number): number {
  const pattern = /[ \t]*(?:\/\/[^\r\n]*|\/\*.*?\*\/)/sy;
  let end = offset;
  for (pattern.lastIndex = end; pattern.test(text); ) end = pattern.lastIndex;
  return end;
}

/** Returns the offset after white space and comments. */
export function skipTrivia(text: string, offset: number): number {
  const pattern = /(?:[\s\uFEFF]+|\/\/[^\r\n]*|\/\*.*?\*\/)*/sy;
  pattern.lastIndex = offset;
  pattern.test(text);
  return pattern.lastIndex;
}

/** Returns the white space at the beginning of the line of an offset. */
export function getIndent(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  return /[ \t]*/y.exec(text.slice(start, offset))?.[0] ?? '';
}

/** Returns whether only white space precedes an offset on its line. */
export function isFirstOnLine(text: string, offset: number): boolean {
  return text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset).trim() === '';
}
