import type { MemoryVectors } from '../../../ports/storage-vectors.ts';
import { MODEL_PLACE, withVectors } from '../../../recall-index/entry.ts';
import { toInt8 } from '../../../recall-index/int8.ts';
import type { ModelInUse } from '../../model-in-use.ts';
import { type Connection, sql } from '../connection.ts';
import { modelInUse } from '../models.ts';
import { noteChange, readEntry, writeEntry } from '../recall-entry.ts';

/** Makes a model the one in use and lets live memories without its vectors wait for them. See `Storage.useModel`. */
export function useModel(connection: Connection, modelId: string): number {
  if (modelInUse(connection)?.modelId !== modelId) change(connection, modelId);
  return sql(connection, 'SELECT count(*) FROM pending_embedding WHERE anew = 1').pluck().get() as number;
}

function change(connection: Connection, modelId: string): void {
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
  ).run({ place: MODEL_PLACE + 1, none: spelled(0), number: spelled(number) });
}

/** The number of a model as an entry holds it. */
function spelled(number: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(number);
  return bytes;
}

/** Writes vectors of texts that have not changed. See `Storage.putVectors`. */
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

function writeVectors(connection: Connection, model: ModelInUse, { ordinal, vectors }: MemoryVectors): void {
  const entry = readEntry(connection, ordinal);
  if (entry) {
    noteDimensions(connection, model, vectors);
    writeEntry(connection, ordinal, withVectors(entry, model.number, vectors.map(toInt8)));
    noteChange(connection, ordinal);
  }
  sql(connection, 'DELETE FROM pending_embedding WHERE ordinal = ?').run(ordinal);
}

// One model makes vectors of one length, or they could not be compared.
function noteDimensions(connection: Connection, model: ModelInUse, vectors: readonly Float32Array[]): void {
  for (const { length } of vectors) {
    if (model.dimensions === null) {
      model.dimensions = length;
      sql(connection, 'UPDATE embedding_model SET dimensions = ? WHERE no = ?').run(length, model.number);
    }
    if (length !== model.dimensions) {
      throw new Error(`the model made a vector of ${length} dimensions, where it had made ${model.dimensions}`);
    }
  }
}
