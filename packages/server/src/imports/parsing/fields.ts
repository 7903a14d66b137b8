import { findUnstorable, type ImportedText, LIMITS, type Metadata } from '@memoryd/contract';
import { cutText } from '../../cut-text.ts';
import { digest } from '../../hooks/keys.ts';
import type { ForeignFormat, Part } from '../format.ts';

/** Fields of an imported text, of which some may have no value. */
export type TextFields = { [Field in keyof ImportedText]?: ImportedText[Field] | undefined } & {
  content: string;
  external_id: string;
};

/** Returns the part for a text, without the fields that have no value. */
export function toTextPart(place: string, fields: TextFields): Part {
  const text = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  return { kind: 'text', place, text: text as ImportedText };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns a text that can be stored: without U+0000 and lone surrogates. Undefined if it is no string, or blank. */
export function toContent(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value.replaceAll('\0', '').toWellFormed();
  return /\S/.test(text) ? text : undefined;
}

/** Returns a trimmed string or number as a label of at most `maxChars` characters; a longer one is cut. */
export function toLabel(value: unknown, maxChars: number): string | undefined {
  const text = toContent(typeof value === 'number' ? String(value) : value)?.trim();
  return text && cutText(text, maxChars);
}

/** Returns an id of another program; a digest of it if it is longer than `maxChars`, since cut ids could be equal. */
export function toId(value: unknown, maxChars: number): string | undefined {
  const text = toContent(typeof value === 'number' ? String(value) : value)?.trim();
  return text && text.length > maxChars ? digest(text) : text;
}

/** Returns an external id, such as `mem0:42`, or a digest of it if it would be too long. */
export function toExternalId(format: ForeignFormat, id: string): string {
  return `${format}:${toId(id, LIMITS.externalIdChars - format.length - 1) ?? digest(id)}`;
}

/** Returns the first tags that fit, without blank and repeated ones. Undefined if none is left. */
export function toTags(values: readonly unknown[]): string[] | undefined {
  const tags = values.flatMap((value) => toLabel(value, LIMITS.tagChars) ?? []);
  return tags.length === 0 ? undefined : [...new Set(tags)].slice(0, LIMITS.tags);
}

/** Returns the tag of a speaker. The names that programs have for a person and a model become `user` and `assistant`. */
export function toRoleTag(role: unknown): string | undefined {
  const name = toLabel(role, LIMITS.tagChars - 'role:'.length)?.toLowerCase();
  return name && `role:${ROLES[name] ?? name}`;
}

const ROLES: Readonly<Record<string, string>> = {
  human: 'user',
  ai: 'assistant',
  bot: 'assistant',
  model: 'assistant',
};

/**
 * Returns the fields that metadata can hold, in their order. Fields without a value are left out, as are values that
 * JSON cannot represent, and fields that would exceed the size or depth of metadata. Undefined if none is left.
 */
export function toMetadata(fields: Readonly<Record<string, unknown>>): Metadata | undefined {
  const kept: [string, unknown][] = [];
  let byteCount = 2;
  for (const [name, value] of Object.entries(fields)) {
    const entry = toMetadataEntry(name, value);
    const size = entry ? Buffer.byteLength(JSON.stringify(entry)) : 0;
    if (!entry || byteCount + size > LIMITS.metadataBytes) continue;
    byteCount += size;
    kept.push(entry);
  }
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

function toMetadataEntry(name: string, value: unknown): [string, unknown] | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  // The depth comes first, because deep values would overflow the stack of the other steps.
  if (!isWithinDepth(value, LIMITS.metadataDepth - 1) || findUnstorable(value, [name])) return undefined;
  return [clean(name), cleanValue(value)];
}

/** Returns whether objects and arrays are nested in at most `depth` levels. */
export function isWithinDepth(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((inner) => isWithinDepth(inner, depth - 1));
}

function cleanValue(value: unknown): unknown {
  if (typeof value === 'string') return clean(value);
  if (Array.isArray(value)) return value.map(cleanValue);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [clean(name), cleanValue(inner)]));
}

function clean(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}
