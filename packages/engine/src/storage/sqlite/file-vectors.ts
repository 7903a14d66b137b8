import type {
  EmbeddingBatch,
  MemoryVectors,
  PendingEmbedding,
  PendingEmbeddings,
} from '../../ports/storage-vectors.ts';
import { MODEL_OFFSET, withVectors } from '../../recall-index/entry.ts';
import { toInt8 } from '../../recall-index/int8.ts';
import type { ModelInUse } from '../sql/database-marks.ts';
import { type Connection, modelInUse, sql } from './connection.ts';
import type { FileQueries } from './file-queries.ts';
import { noteChange, readEntry, writeEntry, writeStates } from './recall-entry.ts';

/**
 * Switches to a model, and queues the memories that have no vectors of the model for embedding. Returns the number of
 * memories that wait for re-embedding. See `Storage.useModel`.
 */
export function useModel(connection: Connection, modelId: string): number {
  if (modelInUse(connection)?.modelId !== modelId) switchModel(connection, modelId);
  return sql(connection, 'SELECT count(*) FROM pending_embedding WHERE reembed = 1').pluck().get() as number;
}

function switchModel(connection: Connection, modelId: string): void {
  sql(connection, 'UPDATE embedding_model SET in_use = 0').run();
  sql(
    connection,
    'INSERT INTO embedding_model (model_id, in_use) VALUES (?, 1) ON CONFLICT DO UPDATE SET in_use = 1',
  ).run(modelId);
  const { number } = modelInUse(connection) as ModelInUse;
  sql(connection, 'DELETE FROM pending_embedding').run();
  sql(
    connection,
    `INSERT INTO pending_embedding
     SELECT e.ordinal, m.namespace, substr(e.entry, @place, 4) <> @none
     FROM recall_entry e CROSS JOIN memory m USING (ordinal) WHERE substr(e.entry, @place, 4) <> @number`,
  ).run({ place: MODEL_OFFSET + 1, none: encodeModel(0), number: encodeModel(number) });
}

/** Returns a model number as bytes, as stored in an index entry. */
function encodeModel(number: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(number);
  return bytes;
}

/**
 * Writes the vectors of memories that are still pending and whose text has not changed. Ignores vectors of a model that
 * is not in use. Returns the ordinals of the written memories. See `Storage.putVectors`.
 */
export function putVectors(connection: Connection, modelId: string, vectors: readonly MemoryVectors[]): number[] {
  const model = modelInUse(connection);
  if (model?.modelId !== modelId) return [];
  const pending = vectors.filter((memory) => isPending(connection, memory));
  for (const memory of pending) writeVectors(connection, model, memory);
  return pending.map(({ ordinal }) => ordinal);
}

function isPending(connection: Connection, { ordinal, revision }: MemoryVectors): boolean {
  const pending = sql(
    connection,
    'SELECT 1 FROM pending_embedding p JOIN memory m USING (ordinal) WHERE p.ordinal = ? AND m.revision = ?',
  ).get(ordinal, revision);
  return pending !== undefined;
}

function writeVectors(connection: Connection, model: ModelInUse, { ordinal, vectors, states }: MemoryVectors): void {
  const entry = readEntry(connection, ordinal);
  if (entry) {
    noteDimensions(connection, model, vectors);
    writeEntry(connection, ordinal, withVectors(entry, model.number, vectors.map(toInt8)));
    writeStates(connection, ordinal, model.number, states);
    noteChange(connection, ordinal);
  }
  sql(connection, 'DELETE FROM pending_embedding WHERE ordinal = ?').run(ordinal);
}

// Stores the number of dimensions of a model's first vector. Throws if a later vector of the model has a different
// number of dimensions.
function noteDimensions(connection: Connection, model: ModelInUse, vectors: readonly Float32Array[]): void {
  for (const { length } of vectors) {
    if (model.dimensions === null) {
      model.dimensions = length;
      sql(connection, 'UPDATE embedding_model SET dimensions = ? WHERE no = ?').run(length, model.number);
    }
    if (length !== model.dimensions) {
      throw new Error(
        `the embedding model returned a vector with ${length} dimensions instead of ${model.dimensions}; choose another model`,
      );
    }
  }
}

const MAX_COUNTED = 1000;

/** See `Storage.pendingEmbeddings`. */
export async function pendingEmbeddings(
  { connection }: FileQueries,
  modelId: string,
  batch: EmbeddingBatch,
): Promise<PendingEmbeddings> {
  if (modelInUse(connection)?.modelId !== modelId) {
    return { isInUse: false, memories: [], reembed: false, waiting: 0 };
  }
  const waiting = sql(
    connection,
    'SELECT count(*) FROM (SELECT 1 FROM pending_embedding p CROSS JOIN memory m USING (ordinal) WHERE p.reembed = 0 LIMIT ?)',
  )
    .pluck()
    .get(MAX_COUNTED) as number;
  const reembed = waiting === 0;
  return { isInUse: true, memories: takeBatch(connection, reembed, batch), reembed, waiting };
}

function takeBatch(
  connection: Connection,
  reembed: boolean,
  { limit, newest, ...maxima }: EmbeddingBatch,
): PendingEmbedding[] {
  const rows = sql(
    connection,
    `SELECT m.ordinal, m.revision, m.content FROM pending_embedding p CROSS JOIN memory m USING (ordinal)
     WHERE p.reembed = ? ORDER BY p.ordinal ${newest ? 'DESC' : ''} LIMIT ?`,
  ).iterate(reembed ? 1 : 0, limit) as Iterable<PendingEmbedding>;
  const maxChars = reembed ? maxima.maxReembeddingChars : maxima.maxChars;
  const memories: PendingEmbedding[] = [];
  let chars = 0;
  for (const row of rows) {
    chars += row.content.length;
    if (memories.length > 0 && chars > maxChars) break;
    memories.push(row);
  }
  return memories;
}
