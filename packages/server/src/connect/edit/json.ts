import { isDeepStrictEqual } from 'node:util';
import { getNodeValue, type Node } from 'jsonc-parser';
import type { JsonEntry, JsonValue } from '../types.ts';
import { ForeignEntry, getLine, getLineEnd, UnchangeableFile } from './failures.ts';
import {
  findProperty,
  findValue,
  getCommentsEnd,
  getIndent,
  isFirstOnLine,
  parseJson,
  skipTrivia,
} from './json-text.ts';

/** How an entry is undone. */
export interface JsonUndo {
  kind: 'json';
  path: readonly string[];
  value: JsonValue;
  isElement?: true;
  /** Removes the entry only if nothing else is beside it. */
  isDefault?: true;
  /** The number of keys of the path that existed before. The others are removed again if nothing else is in them. */
  existing: number;
  /** The text after the entry, if its container was on one line or empty. */
  tail: string;
  /** The whole text before, if it had white space and comments only. */
  blank?: string;
}

const INDENT = '  ';

/**
 * Adds an entry to the text of a JSON file. All other bytes stay.
 *
 * @returns the text, and how the entry is undone; undefined if the text has the entry
 * @throws UnchangeableFile for a syntax error, or a path through something that is no object
 * @throws ForeignEntry for another value at the path
 */
export function addJsonEntry(text: string, entry: JsonEntry): { text: string; undo: JsonUndo } | undefined {
  const { path, isElement, value } = entry;
  const root = parseJson(text);
  const undo = { kind: 'json' as const, ...entry, existing: 0, tail: '' };
  if (root === undefined) {
    const whole = nest(path, isElement ? [value] : value);
    const end = getLineEnd(text);
    const json = `${JSON.stringify(whole, null, INDENT).replaceAll('\n', end)}${end}`;
    const head = text.trim() === '' || text.endsWith('\n') ? text.trimStart() : text + end;
    return { text: head + json, undo: { ...undo, blank: text } };
  }
  if (hasJsonEntry(root, entry)) return undefined;
  const { container, existing } = findContainer(text, root, entry);
  const rest = path.slice(existing);
  const added = nest(rest.slice(1), isElement && rest.length > 0 ? [value] : value);
  const inserted = insertChild(text, container, root, rest[0], added);
  return { text: inserted.text, undo: { ...undo, existing, tail: inserted.tail } };
}

/** Returns whether the text has an entry, or any value in place of an entry with a default. */
function hasJsonEntry(root: Node, { path, value, isElement, isDefault }: JsonEntry): boolean {
  const node = findValue(root, path);
  if (node === undefined) return false;
  if (isElement) return node.type === 'array' && (node.children ?? []).some((child) => isEqual(child, value));
  return isDefault === true || isEqual(node, value);
}

function isEqual(node: Node, value: JsonValue): boolean {
  // Cloned, because the parser's objects have no prototype.
  return isDeepStrictEqual(structuredClone(getNodeValue(node)), value);
}

/** Returns the object or array that gets the new child, and how many keys of the path exist. */
function findContainer(
  text: string,
  root: Node,
  { path, isElement }: JsonEntry,
): { container: Node; existing: number } {
  let container = root;
  let existing = 0;
  for (const key of path) {
    if (container.type !== 'object') throw notA('object', text, container, path.slice(0, existing));
    const child = findProperty(container, key)?.children?.[1];
    if (child === undefined) return { container, existing };
    container = child;
    existing++;
  }
  if (!isElement) {
    throw new ForeignEntry(
      `line ${getLine(text, container.offset)} has a ${path.join('.')} that connect did not write; it is left as it is`,
    );
  }
  if (container.type !== 'array') throw notA('array', text, container, path);
  return { container, existing };
}

function notA(type: string, text: string, node: Node, path: readonly string[]): UnchangeableFile {
  return new UnchangeableFile(`line ${getLine(text, node.offset)}: ${path.join('.')} must be an ${type}`);
}

function nest(keys: readonly string[], value: JsonValue): JsonValue {
  return keys.reduceRight<JsonValue>((inner, key) => ({ [key]: inner }), value);
}

/** Inserts a child after the last child of an object (with a key) or array, and after the comments on its line. */
function insertChild(
  text: string,
  container: Node,
  root: Node,
  key: string | undefined,
  value: JsonValue,
): { text: string; tail: string } {
  const lineEnd = getLineEnd(text);
  const last = container.children?.at(-1);
  const lastEnd = last ? last.offset + last.length : container.offset + 1;
  const comma = last ? skipTrivia(text, lastEnd) : -1;
  const hasTrailingComma = text[comma] === ',';
  const at = getCommentsEnd(text, hasTrailingComma ? comma + 1 : lastEnd);
  const outer = getIndent(text, container.offset);
  const unit = getIndentUnit(text, root);
  const indent = last && isFirstOnLine(text, last.offset) ? getIndent(text, last.offset) : outer + unit;
  const json = JSON.stringify(value, null, unit).replaceAll('\n', lineEnd + indent);
  const child = key === undefined ? json : `${JSON.stringify(key)}: ${json}`;
  // The rest of the line, such as a closing brace, goes to a line of its own.
  const tail = /^[ \t]*(?:\r?\n)/.test(text.slice(at)) ? '' : lineEnd + outer;
  const before = text.slice(0, lastEnd) + (last && !hasTrailingComma ? ',' : '') + text.slice(lastEnd, at);
  return { text: `${before}${lineEnd}${indent}${child}${hasTrailingComma ? ',' : ''}${tail}${text.slice(at)}`, tail };
}

/** Returns the indentation of the first property, if it is on a line of its own. */
function getIndentUnit(text: string, root: Node): string {
  const [first] = root.children ?? [];
  const isOwnLine = first && text.slice(root.offset, first.offset).includes('\n') && isFirstOnLine(text, first.offset);
  return (isOwnLine && getIndent(text, first.offset)) || INDENT;
}

/**
 * Removes an entry from the text of a JSON file, and objects that were created for it if nothing else is in them. Changes
 * nothing if the entry is missing. All other bytes stay, except the comma before the entry.
 *
 * @throws UnchangeableFile for a syntax error
 */
export function removeJsonEntry(text: string, undo: JsonUndo): string {
  const root = parseJson(text);
  if (root === undefined) return text;
  const found = undo.isElement ? findElement(root, undo) : findOwnProperty(root, undo);
  if (found === undefined) return text;
  if (undo.isDefault && (found.container.children?.length ?? 0) > 1) return text;
  const isOutermost = undo.existing === (undo.isElement ? undo.path.length : undo.path.length - 1);
  const removed = removeChild(text, found.container, found.child, found.isWhole && isOutermost ? undo.tail : '');
  return found.isWhole ? removeEmptyContainers(removed, undo) : removed;
}

interface FoundChild {
  container: Node;
  child: Node;
  /** Whether the child is the whole entry, and not a part of a group to which someone has added. */
  isWhole: boolean;
}

function findOwnProperty(root: Node, { path }: JsonUndo): FoundChild | undefined {
  const container = findValue(root, path.slice(0, -1));
  const child = container?.type === 'object' ? findProperty(container, path.at(-1) ?? '') : undefined;
  return container && child && { container, child, isWhole: true };
}

/** Finds an element by its value; if someone has changed it, by its command, address or id. */
function findElement(root: Node, { path, value }: JsonUndo): FoundChild | undefined {
  const container = findValue(root, path);
  if (container?.type !== 'array') return undefined;
  const children = container.children ?? [];
  const equal = children.findLast((child) => isEqual(child, value));
  if (equal) return { container, child: equal, isWhole: true };
  const identity = getIdentity(value);
  if (identity === undefined) return undefined;
  for (const child of children) {
    const group = findValue(child, ['hooks']);
    const handler = group?.children?.find((each) => getIdentity(getNodeValue(each)) === identity);
    if (group && handler && (group.children?.length ?? 0) > 1)
      return { container: group, child: handler, isWhole: false };
    if (handler || getIdentity(getNodeValue(child)) === identity) return { container, child, isWhole: true };
  }
  return undefined;
}

/** Returns the text that identifies a handler, or the only handler of a group. */
function getIdentity(value: JsonValue): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const { id, command, windows, powershell, hooks } = value;
  const own = [id, command, windows, powershell].find((each) => typeof each === 'string');
  if (typeof own === 'string') return own;
  return Array.isArray(hooks) && hooks.length === 1 && hooks[0] !== undefined ? getIdentity(hooks[0]) : undefined;
}

/** Removes the objects and arrays that were created for an entry, innermost first, unless something is in them. */
function removeEmptyContainers(text: string, { path, isElement, existing, tail, blank }: JsonUndo): string {
  let result = text;
  for (let length = isElement ? path.length : path.length - 1; length > existing; length--) {
    const root = parseJson(result);
    const container = findValue(root, path.slice(0, length - 1));
    const child = container?.type === 'object' ? findProperty(container, path[length - 1] ?? '') : undefined;
    const value = child?.children?.[1];
    if (!container || !child || !value || !isEmpty(result, value)) return result;
    result = removeChild(result, container, child, length === existing + 1 ? tail : '');
  }
  const root = parseJson(result);
  if (blank === undefined || !root || !isEmpty(result, root)) return result;
  const others = result.slice(0, root.offset) + result.slice(root.offset + root.length);
  return others.trim() === blank.trim() ? blank : result;
}

/** Returns whether an object or array has neither children nor comments. */
function isEmpty(text: string, { offset, length }: Node): boolean {
  return /^[{[]\s*[}\]]$/.test(text.slice(offset, offset + length));
}

/** Removes a child with the white space before it and one comma. */
function removeChild(text: string, container: Node, child: Node, tail: string): string {
  const children = container.children ?? [];
  const previous = children[children.indexOf(child) - 1];
  const previousEnd = previous ? previous.offset + previous.length : container.offset + 1;
  const start = text.slice(0, child.offset).trimEnd().length;
  const end = child.offset + child.length;
  const comma = skipTrivia(text, end);
  const hasComma = text[comma] === ',';
  const rest = hasComma ? text.slice(end, comma) + text.slice(comma + 1) : text.slice(end);
  const after = tail !== '' && rest.startsWith(tail) ? rest.slice(tail.length) : rest;
  // A line comment before the child would swallow the rest of the line.
  const needsLineEnd = endsInLineComment(text.slice(previousEnd, start)) && !/^[ \t]*\r?\n/.test(after);
  const removed = text.slice(0, start) + (needsLineEnd ? getLineEnd(text) : '') + after;
  if (hasComma || !previous) return removed;
  const previousComma = skipTrivia(text, previousEnd);
  return removed.slice(0, previousComma) + removed.slice(previousComma + 1);
}

/** Returns whether white space, commas and comments end in a line comment. */
function endsInLineComment(trivia: string): boolean {
  const last = Array.from(trivia.matchAll(/\/\/[^\r\n]*|\/\*.*?\*\//gs)).at(-1);
  return last?.[0].startsWith('//') === true && last.index + last[0].length === trivia.length;
}
