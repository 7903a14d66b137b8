import type { Metadata } from '@memoryd/contract';
import { attributeKey, attributesOf } from '../attributes.ts';
import type { Queries } from './queries.ts';
import { type Sql, sql } from './sql.ts';

/** What filters find a memory by. */
export interface Labelled {
  namespace: string;
  ordinal: number;
  tags: readonly string[];
  metadata: Metadata;
}

export async function addAttributes(queries: Queries, memories: readonly Labelled[]): Promise<void> {
  const attributes = toRecords(queries, memories);
  if (!attributes) return;
  await queries.run(sql`
    INSERT INTO attribute (namespace, name, value, ordinal)
    SELECT namespace, name, value, ordinal FROM ${attributes} WHERE true
    ON CONFLICT DO NOTHING`);
}

export async function removeAttributes(queries: Queries, memories: readonly Labelled[]): Promise<void> {
  const attributes = toRecords(queries, memories);
  if (!attributes) return;
  await queries.run(sql`
    DELETE FROM attribute WHERE (namespace, name, value, ordinal) IN (
      SELECT namespace, name, value, ordinal FROM ${attributes})`);
}

/** Returns the attributes of memories as a table; undefined where they have none. */
function toRecords({ dialect }: Queries, memories: readonly Labelled[]): Sql | undefined {
  const attributes = memories.flatMap(({ namespace, ordinal, tags, metadata }) =>
    Array.from(attributesOf(tags, metadata), ([name, value]) => ({
      namespace,
      name: attributeKey(name),
      value: attributeKey(value),
      ordinal,
    })),
  );
  if (attributes.length === 0) return undefined;
  return dialect.records('label', { namespace: 'text', name: 'text', value: 'text', ordinal: 'bigint' }, attributes);
}
