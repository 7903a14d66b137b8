import { hash } from 'node:crypto';
import type { Metadata } from '@memoryd/contract';
import type { MemoryFilter } from '../ports/storage-memories.ts';
import { CorruptDatabaseError, fromJson } from './corruption.ts';

/** Label names for the session, user, agent, source and speaker of a memory. No attribute has one of these names. */
export const SESSION_LABEL = 'session';
export const USER_LABEL = 'user';
export const AGENT_LABEL = 'agent';
export const SOURCE_LABEL = 'source';
export const SPEAKER_LABEL = 'speaker';

const TAG_ATTRIBUTE = 'tag';

function metadataAttribute(field: string): string {
  return `metadata.${field}`;
}

/**
 * Maximum length, in UTF-16 units, of an attribute name or value that is stored unchanged. Longer texts are hashed,
 * because a PostgreSQL index row has at most 2,704 bytes.
 */
const MAX_KEY_LENGTH = 200;

/**
 * Returns the stored form of an attribute name or value: the text itself, or U+0001 and the SHA-256 of the text if the
 * text is too long or starts with U+0001.
 */
export function attributeKey(text: string): string {
  return text.length <= MAX_KEY_LENGTH && !text.startsWith('\u0001') ? text : `\u0001${hash('sha256', text)}`;
}

/** Yields the attributes that filters can match: tags, and metadata fields with a string, number, boolean or null. */
export function* getAttributes(tags: readonly string[], metadata: Metadata): Iterable<[string, string]> {
  for (const tag of tags) yield [TAG_ATTRIBUTE, tag];
  for (const [field, value] of Object.entries(metadata)) {
    if (typeof value !== 'object' || value === null) yield [metadataAttribute(field), String(value)];
  }
}

/** Returns the distinct attributes of a memory row, or undefined if its JSON cannot be parsed. */
export function attributesOfRow({
  tags,
  metadata,
}: {
  tags: string;
  metadata: string;
}): [string, string][] | undefined {
  try {
    const all = [
      ...getAttributes(
        fromJson<string[]>(tags, 'the tags of', 'a memory'),
        fromJson<Metadata>(metadata, 'the metadata of', 'a memory'),
      ),
    ];
    return [...new Map(all.map((attribute) => [attribute.join('\0'), attribute])).values()];
  } catch (error) {
    if (error instanceof CorruptDatabaseError) return undefined;
    throw error;
  }
}

/** Returns true if the filter has no condition. */
export function isOpen(filter: MemoryFilter): boolean {
  return Object.values(filter).every((condition) => condition === undefined);
}

/** Returns the attributes that a filter requires, as pairs of name and value. */
export function filteredAttributes(filter: MemoryFilter): [string, string][] {
  const metadata = Object.entries(filter.metadata ?? {});
  return [
    ...(filter.tags ?? []).map((tag): [string, string] => [TAG_ATTRIBUTE, tag]),
    ...metadata.map(([field, value]): [string, string] => [metadataAttribute(field), value]),
  ];
}
