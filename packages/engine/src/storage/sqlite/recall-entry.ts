import type { Metadata } from '@memoryd/contract';
import { ANALYZER_VERSION, termFrequencies } from '../../core/text/analyze.ts';
import { type Connection, sql } from './connection.ts';
import { addWords, removeWords, termDigest } from './words.ts';

/**
 * Lets recall find a memory, its words at once and its meaning as soon as its vectors are in, and consolidation look
 * for its duplicates.
 */
export function enterRecall(connection: Connection, namespace: string, ordinal: number, content: string): void {
  enterWords(connection, namespace, ordinal, content);
  sql(connection, 'INSERT OR IGNORE INTO merge_candidate VALUES (?, ?)').run(namespace, ordinal);
  sql(
    connection,
    'INSERT OR IGNORE INTO pending_embedding SELECT ? WHERE EXISTS (SELECT 1 FROM embedding_model WHERE in_use)',
  ).run(ordinal);
}

function enterWords(connection: Connection, namespace: string, ordinal: number, content: string): void {
  const { frequencies, length } = termFrequencies(content);
  const digests = new Map<number, number>();
  for (const [term, frequency] of frequencies) {
    const digest = termDigest(namespace, term);
    digests.set(digest, (digests.get(digest) ?? 0) + frequency);
  }
  addWords(connection, ordinal, digests, length);
}

const ANALYZER_PROPERTY = 'analyzer_version';

/** Makes the word index anew, in one transaction, where another version of the analysis made it. */
export function reindexWords(connection: Connection): void {
  const madeBy = sql(connection, 'SELECT value FROM property WHERE name = ?').pluck().get(ANALYZER_PROPERTY);
  if (madeBy === String(ANALYZER_VERSION)) return;
  connection
    .transaction(() => {
      connection.exec("INSERT INTO word_index (word_index) VALUES ('delete-all'); DELETE FROM memory_words;");
      const memories = connection.prepare(
        'SELECT ordinal, namespace, content FROM memory WHERE ordinal > ? AND merged_into IS NULL AND evicted_at IS NULL ORDER BY ordinal LIMIT 256',
      );
      for (let last = 0, rows = nextRows(0); rows.length > 0; rows = nextRows(last)) {
        for (const row of rows) enterWords(connection, row.namespace, row.ordinal, row.content);
        last = (rows.at(-1) as IndexedRow).ordinal;
      }
      sql(connection, 'INSERT INTO property VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value').run(
        ANALYZER_PROPERTY,
        String(ANALYZER_VERSION),
      );
      function nextRows(after: number): IndexedRow[] {
        return memories.all(after) as IndexedRow[];
      }
    })
    .immediate();
}

interface IndexedRow {
  ordinal: number;
  namespace: string;
  content: string;
}

/** Takes a memory's words and vectors, of every model, out of recall. */
export function leaveRecall(connection: Connection, namespace: string, ordinal: number): void {
  removeWords(connection, ordinal);
  sql(connection, 'DELETE FROM merge_candidate WHERE namespace = ? AND ordinal = ?').run(namespace, ordinal);
  sql(connection, 'DELETE FROM pending_embedding WHERE ordinal = ?').run(ordinal);
  const vectors = sql(
    connection,
    'DELETE FROM memory_vector WHERE model_no IN (SELECT no FROM embedding_model) AND ordinal = ?',
  ).run(ordinal);
  if (vectors.changes > 0) noteVectorChange(connection, namespace, ordinal);
}

/** Tells indexes in memory, of every process, to look at a memory's vectors again. */
export function noteVectorChange(connection: Connection, namespace: string, ordinal: number): void {
  sql(connection, 'INSERT INTO vector_change (namespace, ordinal) VALUES (?, ?)').run(namespace, ordinal);
}

/** Keeps what filters look for: tags, and metadata fields whose values are strings, numbers, booleans or null. */
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

/** The name under which a metadata field is filtered. */
export function metadataAttribute(field: string): string {
  return `metadata.${field}`;
}

export const TAG_ATTRIBUTE = 'tag';

function* attributesOf(tags: readonly string[], metadata: Metadata): Iterable<[string, string]> {
  for (const tag of tags) yield [TAG_ATTRIBUTE, tag];
  for (const [field, value] of Object.entries(metadata)) {
    if (typeof value !== 'object' || value === null) yield [metadataAttribute(field), String(value)];
  }
}
