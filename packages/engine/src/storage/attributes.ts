import { hash } from 'node:crypto';
import type { Metadata } from '@memoryd/contract';
import type { MemoryFilter } from '../ports/storage-memories.ts';
import { DamagedDatabase, fromJson } from './damage.ts';

/** Names under which recall finds what is no attribute. No attribute has them. */
export const SESSION_LABEL = 'session';
export const USER_LABEL = 'user';
export const AGENT_LABEL = 'agent';
export const SOURCE_LABEL = 'source';
export const SPEAKER_LABEL = 'speaker';

const TAG_ATTRIBUTE = 'tag';

/** The name under which a metadata field is filtered. */
function metadataAttribute(field: string): string {
  return `metadata.${field}`;
}

/** The longest name or value that is part of a key as it is, in UTF-16 units: PostgreSQL takes 2,704 bytes in all. */
const MAX_KEY_LENGTH = 200;

/** Returns a name or value as the table of attributes has it: a digest, after U+0001, of one that is too long. */
export function attributeKey(text: string): string {
  return text.length <= MAX_KEY_LENGTH && !text.startsWith('\u0001') ? text : `\u0001${hash('sha256', text)}`;
}

/** What filters look for: tags, and metadata fields whose values are strings, numbers, booleans or null. */
export function* getAttributes(tags: readonly string[], metadata: Metadata): Iterable<[string, string]> {
  for (const tag of tags) yield [TAG_ATTRIBUTE, tag];
  for (const [field, value] of Object.entries(metadata)) {
    if (typeof value !== 'object' || value === null) yield [metadataAttribute(field), String(value)];
  }
}

/** The attributes of a memory by the JSON that its row holds, each once; undefined where that cannot be read. */
export function attributesOfRow({
  tags,
  metadata,
}: {
  tags: string;
  metadata: string;
}): [string, string][] | undefined {
  try {
    const all = [...getAttributes(fromJson<string[]>(tags), fromJson<Metadata>(metadata))];
    return [...new Map(all.map((attribute) => [attribute.join('\0'), attribute])).values()];
  } catch (error) {
    if (error instanceof DamagedDatabase) return undefined;
    throw error;
  }
}

/** Whether a filter lets every memory through. */
export function isOpen(filter: MemoryFilter): boolean {
  return Object.values(filter).every((condition) => condition === undefined);
}

/** The attributes that a filter asks for, by name and value. */
export function filteredAttributes(filter: MemoryFilter): [string, string][] {
  const metadata = Object.entries(filter.metadata ?? {});
  return [
    ...(filter.tags ?? []).map((tag): [string, string] => [TAG_ATTRIBUTE, tag]),
    ...metadata.map(([field, value]): [string, string] => [metadataAttribute(field), value]),
  ];
}
