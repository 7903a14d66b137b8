import type { MemoryVectors } from '../../../ports/storage.ts';
import { toInt8 } from '../../../vector/int8.ts';
import { type Connection, sql } from '../connection.ts';
import { noteVectorChange } from '../recall-entry.ts';

/** Most noted changes that are kept; an index in memory that has fallen further behind is read anew. */
const CHANGES_KEPT = 100_000;

/** Makes a model the one in use and lets live memories without its vectors wait for them. See `Storage.useModel`. */
export function useModel(connection: Connection, modelId: string): void {
  if (modelInUse(connection)?.modelId === modelId) return;
  sql(connection, 'UPDATE embedding_model SET in_use = 0').run();
  sql(
    connection,
    'INSERT INTO embedding_model (model_id, in_use) VALUES (?, 1) ON CONFLICT DO UPDATE SET in_use = 1',
  ).run(modelId);
  sql(connection, 'DELETE FROM pending_embedding').run();
  sql(
    connection,
    `INSERT INTO pending_embedding SELECT m.ordinal FROM memory m
     WHERE m.merged_into IS NULL AND m.evicted_at IS NULL AND NOT EXISTS (
       SELECT 1 FROM memory_vector v JOIN embedding_model e ON e.no = v.model_no
       WHERE e.in_use AND v.ordinal = m.ordinal)`,
  ).run();
}

export function modelInUse(connection: Connection): { no: number; modelId: string } | undefined {
  return sql(connection, 'SELECT no, model_id AS modelId FROM embedding_model WHERE in_use').get() as
    | { no: number; modelId: string }
    | undefined;
}

/** Keeps vectors of texts that are still what they were. See `Storage.putVectors`. */
export function putVectors(connection: Connection, modelId: string, vectors: readonly MemoryVectors[]): void {
  const model = modelInUse(connection);
  if (model?.modelId !== modelId) return;
  for (const memory of vectors) {
    const namespace = namespaceOfWaiting(connection, memory);
    if (namespace !== undefined) keep(connection, namespace, model.no, memory);
  }
  sql(connection, 'DELETE FROM vector_change WHERE seq <= (SELECT max(seq) FROM vector_change) - ?').run(CHANGES_KEPT);
}

function namespaceOfWaiting(connection: Connection, memory: MemoryVectors): string | undefined {
  return sql(
    connection,
    'SELECT m.namespace FROM pending_embedding p JOIN memory m USING (ordinal) WHERE p.ordinal = ? AND m.version = ?',
  )
    .pluck()
    .get(memory.ordinal, memory.version) as string | undefined;
}

function keep(connection: Connection, namespace: string, modelNo: number, memory: MemoryVectors): void {
  sql(connection, 'DELETE FROM memory_vector WHERE model_no = ? AND ordinal = ?').run(modelNo, memory.ordinal);
  const insert = sql(connection, 'INSERT INTO memory_vector (model_no, ordinal, part, vector) VALUES (?, ?, ?, ?)');
  memory.vectors.forEach((vector, part) => {
    insert.run(modelNo, memory.ordinal, part, toInt8(vector));
  });
  sql(connection, 'DELETE FROM pending_embedding WHERE ordinal = ?').run(memory.ordinal);
  noteVectorChange(connection, namespace, memory.ordinal);
}
