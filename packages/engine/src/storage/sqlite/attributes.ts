import type { Metadata } from '@memoryd/contract';
import { attributeKey, attributesOf } from '../attributes.ts';
import { type Connection, sql } from './connection.ts';

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
  for (const [name, value] of attributesOf(tags, metadata)) {
    insert.run(namespace, attributeKey(name), attributeKey(value), ordinal);
  }
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
  for (const [name, value] of attributesOf(tags, metadata)) {
    remove.run(namespace, attributeKey(name), attributeKey(value), ordinal);
  }
}
