import { hash } from 'node:crypto';
import type { Metadata } from '@memoryd/contract';
import { getAttributes } from '@memoryd/search';
import { CorruptDatabaseError, fromJson } from './corruption.ts';

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

/** An attribute as it is stored. `name` is its name in messages, `key` the stored form of the name. */
interface StoredAttribute {
  name: string;
  key: string;
  value: string;
}

/** Returns the distinct attributes of a memory row, or undefined if its JSON cannot be parsed. */
export function attributesOfRow({
  tags,
  metadata,
  externalId,
}: {
  tags: string;
  metadata: string;
  externalId: string | null;
}): StoredAttribute[] | undefined {
  try {
    const all = [
      ...getAttributes({
        tags: fromJson<string[]>(tags, 'the tags of', 'a memory'),
        metadata: fromJson<Metadata>(metadata, 'the metadata of', 'a memory'),
        externalId,
      }),
    ];
    const distinct = new Map(all.map((attribute) => [attribute.join('\0'), attribute])).values();
    return Array.from(distinct, ([name, value]) => ({ name, key: attributeKey(name), value: attributeKey(value) }));
  } catch (error) {
    if (error instanceof CorruptDatabaseError) return undefined;
    throw error;
  }
}
