import type { Metadata } from '@memoryd/contract';
import { attributeKey, attributesOf } from '../attributes.ts';
import { sql } from '../sql/sql.ts';
import type { Transaction } from './connection.ts';

/** What filters find a memory by. */
export interface Labelled {
  namespace: string;
  ordinal: number;
  tags: readonly string[];
  metadata: Metadata;
}

export async function addAttributes(transaction: Transaction, memories: readonly Labelled[]): Promise<void> {
  const { namespaces, names, values, ordinals } = columnsOf(memories);
  if (ordinals.length === 0) return;
  await transaction.run(sql`
    INSERT INTO attribute (namespace, name, value, ordinal)
    SELECT * FROM unnest(${namespaces}::text[], ${names}::text[], ${values}::text[], ${ordinals}::bigint[])
    ON CONFLICT DO NOTHING`);
}

export async function removeAttributes(transaction: Transaction, memories: readonly Labelled[]): Promise<void> {
  const { namespaces, names, values, ordinals } = columnsOf(memories);
  if (ordinals.length === 0) return;
  await transaction.run(sql`
    DELETE FROM attribute a
    USING unnest(${namespaces}::text[], ${names}::text[], ${values}::text[], ${ordinals}::bigint[])
      AS gone(namespace, name, value, ordinal)
    WHERE a.namespace = gone.namespace AND a.name = gone.name AND a.value = gone.value AND a.ordinal = gone.ordinal`);
}

function columnsOf(memories: readonly Labelled[]) {
  const columns = {
    namespaces: [] as string[],
    names: [] as string[],
    values: [] as string[],
    ordinals: [] as number[],
  };
  for (const { namespace, ordinal, tags, metadata } of memories) {
    for (const [name, value] of attributesOf(tags, metadata)) {
      columns.namespaces.push(namespace);
      columns.names.push(attributeKey(name));
      columns.values.push(attributeKey(value));
      columns.ordinals.push(ordinal);
    }
  }
  return columns;
}
