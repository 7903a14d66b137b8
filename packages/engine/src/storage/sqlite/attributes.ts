import type { Metadata } from '@memoryd/contract';
import { type Connection, sql } from './connection.ts';

/** Names under which recall finds what is no attribute. No attribute has them. */
export const SESSION_LABEL = 'session';
export const SOURCE_LABEL = 'source';
export const SPEAKER_LABEL = 'speaker';

export const TAG_ATTRIBUTE = 'tag';

/** The name under which a metadata field is filtered. */
export function metadataAttribute(field: string): string {
  return `metadata.${field}`;
}

/** What filters look for: tags, and metadata fields whose values are strings, numbers, booleans or null. */
export function* attributesOf(tags: readonly string[], metadata: Metadata): Iterable<[string, string]> {
  for (const tag of tags) yield [TAG_ATTRIBUTE, tag];
  for (const [field, value] of Object.entries(metadata)) {
    if (typeof value !== 'object' || value === null) yield [metadataAttribute(field), String(value)];
  }
}

export function addAttributes(
  connection: Connection,
  namespace: string,
  ordinal: number,
  tags: readonly string[],
  metadata: Metadata,
): void {
  const insert = sql(
    connection,
    'INSERT OR IGNORE INTO attribute (namespace, name, value, ordinal) VALUES (?, ?, ?, ?)',
  );
  for (const [name, value] of attributesOf(tags, metadata)) insert.run(namespace, name, value, ordinal);
}

export function removeAttributes(
  connection: Connection,
  namespace: string,
  ordinal: number,
  tags: readonly string[],
  metadata: Metadata,
): void {
  const remove = sql(
    connection,
    'DELETE FROM attribute WHERE namespace = ? AND name = ? AND value = ? AND ordinal = ?',
  );
  for (const [name, value] of attributesOf(tags, metadata)) remove.run(namespace, name, value, ordinal);
}
