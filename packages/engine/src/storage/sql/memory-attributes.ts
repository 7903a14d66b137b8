import type { Metadata } from '@memoryd/contract';
import { attributeKey, attributesOf } from '../attributes.ts';
import type { Queries } from './queries.ts';
import { sql } from './sql.ts';

/** What filters find a memory by. */
export interface Labelled {
  namespace: string;
  ordinal: number;
  tags: readonly string[];
  metadata: Metadata;
}

const COLUMNS = { namespace: 'text', name: 'text', value: 'text', ordinal: 'bigint' } as const;

export async function addAttributes(queries: Queries, memories: readonly Labelled[]): Promise<void> {
  await queries.insert('attribute', COLUMNS, memories.flatMap(toRows), sql`ON CONFLICT DO NOTHING`);
}

export async function removeAttributes(queries: Queries, memories: readonly Labelled[]): Promise<void> {
  const attributes = memories.flatMap(toRows);
  if (attributes.length === 0) return;
  await queries.run(sql`
    DELETE FROM attribute WHERE (namespace, name, value, ordinal) IN (
      SELECT namespace, name, value, ordinal FROM ${queries.dialect.records('label', COLUMNS, attributes)})`);
}

function toRows({ namespace, ordinal, tags, metadata }: Labelled) {
  return Array.from(attributesOf(tags, metadata), ([name, value]) => ({
    namespace,
    name: attributeKey(name),
    value: attributeKey(value),
    ordinal,
  }));
}
