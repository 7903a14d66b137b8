import type { ModelInUse } from '@memoryd/core';
import {
  EMBEDDING_LIMITS,
  type EmbeddingBatch,
  type FirstVectors,
  type MemoryVectors,
  type PendingEmbeddings,
} from '@memoryd/core';
import { getModel, getVectors, type Int8Vector, MODEL_OFFSET, toInt8, withVectors } from '@memoryd/search';
import { type Connection, modelInUse, sql } from './connection.ts';
import type { FileQueries } from './dialect.ts';
import { appendStates, LONG, noteChange, REST, readEntry, SHORT, writeEntry, writeStates } from './recall-entry.ts';

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
  // Without its row, a partially embedded memory would count as embedded when its model is used again.
  sql(connection, 'DELETE FROM pending_embedding WHERE embedded_chars = 0').run();
  sql(
    connection,
    `INSERT INTO pending_embedding (ordinal, namespace, user_id, reembed, stage)
     SELECT e.ordinal, m.namespace, m.user_id, substr(e.entry, @place, 4) <> @none,
       iif(octet_length(m.content) > @short, ${LONG}, ${SHORT})
     FROM recall_entry e CROSS JOIN memory m USING (ordinal) WHERE substr(e.entry, @place, 4) <> @number
     ON CONFLICT DO UPDATE SET reembed = excluded.reembed, stage = excluded.stage`,
  ).run({
    place: MODEL_OFFSET + 1,
    none: encodeModel(0),
    number: encodeModel(number),
    short: EMBEDDING_LIMITS.shortText,
  });
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
  return vectors.filter((memory) => writeVectors(connection, model, memory)).map(({ ordinal }) => ordinal);
}

/** Returns false, without effect, if the vectors do not continue those of the memory, or the text has changed. */
function writeVectors(connection: Connection, model: ModelInUse, memory: MemoryVectors): boolean {
  const { ordinal, revision, from = 0, next, vectors, states } = memory;
  const embeddedChars = sql(
    connection,
    `SELECT p.embedded_chars FROM pending_embedding p JOIN memory m USING (ordinal)
     WHERE p.ordinal = ? AND m.revision = ?`,
  )
    .pluck()
    .get(ordinal, revision) as number | undefined;
  if (embeddedChars === undefined) return false;
  const entry = readEntry(connection, ordinal);
  if (entry) {
    if (from !== (getModel(entry) === model.number ? embeddedChars : 0)) return false;
    noteDimensions(connection, model, vectors);
    const earlier = from > 0 ? getVectors(entry) : [];
    writeEntry(connection, ordinal, withVectors(entry, model.number, [...earlier, ...vectors.map(toInt8)]));
    if (from === 0) writeStates(connection, ordinal, model.number, states);
    else if (states) appendStates(connection, ordinal, model.number, states);
    noteChange(connection, ordinal);
  }
  if (next === undefined) sql(connection, 'DELETE FROM pending_embedding WHERE ordinal = ?').run(ordinal);
  else {
    sql(connection, `UPDATE pending_embedding SET embedded_chars = ?, stage = ${REST} WHERE ordinal = ?`).run(
      next,
      ordinal,
    );
  }
  return true;
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

/** See `Storage.firstVectors`. */
export async function firstVectors(
  { connection }: FileQueries,
  _namespace: string,
  ordinals: readonly number[],
): Promise<FirstVectors | undefined> {
  const model = modelInUse(connection);
  if (!model) return undefined;
  const found = ordinals.flatMap((ordinal): [number, Int8Vector][] => {
    const entry = readEntry(connection, ordinal);
    const [vector] = entry && getModel(entry) === model.number ? getVectors(entry) : [];
    return vector ? [[ordinal, vector]] : [];
  });
  return {
    modelId: model.modelId,
    ordinals: found.map(([ordinal]) => ordinal),
    // A copy, because a buffer of its own is sent to another thread without the entries around the vectors.
    vectors: new Uint8Array(Buffer.concat(found.map(([, vector]) => vector))),
  };
}

const MAX_COUNTED = 1000;

/** See `Storage.pendingEmbeddings`. */
export async function pendingEmbeddings(
  { connection }: FileQueries,
  modelId: string,
  batch: EmbeddingBatch,
): Promise<PendingEmbeddings> {
  const model = modelInUse(connection);
  const settled = (batch.awaited ?? []).filter((ordinal) => isSettled(connection, ordinal));
  if (model?.modelId !== modelId) return { isInUse: false, memories: [], reembed: false, waiting: 0, settled };
  const waiting = sql(
    connection,
    `SELECT count(*) FROM (SELECT 1 FROM pending_embedding p CROSS JOIN memory m USING (ordinal)
     WHERE p.reembed = 0 AND p.stage = ${SHORT} LIMIT ?)`,
  )
    .pluck()
    .get(MAX_COUNTED) as number;
  for (const queue of getQueues(batch)) {
    const places = takeTurns(connection, queue, batch);
    const maxChars = queue.reembed === 1 ? batch.maxReembeddingChars : batch.maxChars;
    const { memories, after } = readPending(connection, model, places, maxChars);
    if (memories.length === 0) continue;
    return { isInUse: true, memories, reembed: queue.reembed === 1, waiting, settled, ...(after && { after }) };
  }
  return { isInUse: true, memories: [], reembed: true, waiting, settled };
}

function isSettled(connection: Connection, ordinal: number): boolean {
  const chars = sql(connection, 'SELECT embedded_chars FROM pending_embedding WHERE ordinal = ?').pluck().get(ordinal);
  return chars !== 0;
}

/** The rows of `pending_embedding` with this priority. */
interface Queue {
  reembed: 0 | 1;
  stage: number;
}

/** Returns the queues of a batch. The batch has the texts of the first queue that is not empty. */
function getQueues({ long }: EmbeddingBatch): Queue[] {
  const stages = long ? [LONG, REST] : [SHORT];
  return ([0, 1] as const).flatMap((reembed) => stages.map((stage) => ({ reembed, stage })));
}

type PendingEmbedding = PendingEmbeddings['memories'][number];
type NamespaceUser = NonNullable<EmbeddingBatch['after']>;

/** Place of a memory in a queue. `turn` is the number of earlier places of its user. */
interface Place extends NamespaceUser {
  ordinal: number;
  turn: number;
}

/** Returns the next places of a queue, at most `limit`. The users take turns, place by place. */
function takeTurns(
  connection: Connection,
  { reembed, stage }: Queue,
  { limit, newest, after }: EmbeddingBatch,
): Place[] {
  let users = nextUsers(connection, { reembed, stage }, after);
  if (users.length === 0 && after) users = nextUsers(connection, { reembed, stage });
  if (users.length === 0) return [];
  const ordinals = sql(
    connection,
    `SELECT ordinal FROM pending_embedding WHERE reembed = ? AND stage = ? AND namespace = ? AND user_id = ?
     ORDER BY ordinal ${newest ? 'DESC' : ''} LIMIT ?`,
  ).pluck();
  const perUser = Math.ceil(limit / users.length);
  const turns = users.map(({ namespace, userId }) =>
    (ordinals.all(reembed, stage, namespace, userId, perUser) as number[]).map((ordinal, turn) => ({
      namespace,
      userId,
      ordinal,
      turn,
    })),
  );
  const places = Array.from({ length: perUser }, (_, turn) => turns.flatMap((own) => own[turn] ?? [])).flat();
  return places.slice(0, limit);
}

/** Returns the users of a queue after a user, at most `EMBEDDING_LIMITS.batchUsers`. */
function nextUsers(connection: Connection, { reembed, stage }: Queue, after?: NamespaceUser): NamespaceUser[] {
  const next = sql(
    connection,
    `SELECT namespace, user_id AS userId FROM pending_embedding
     WHERE reembed = ? AND stage = ? AND (namespace, user_id) > (?, ?) ORDER BY namespace, user_id LIMIT 1`,
  );
  const users: NamespaceUser[] = [];
  for (let last = after; users.length < EMBEDDING_LIMITS.batchUsers; last = users.at(-1)) {
    const user = next.get(reembed, stage, last?.namespace ?? '', last?.userId ?? '') as NamespaceUser | undefined;
    if (!user) break;
    users.push(user);
  }
  return users;
}

function readPending(
  connection: Connection,
  { number }: ModelInUse,
  places: readonly Place[],
  maxChars: number,
): { memories: PendingEmbedding[]; after?: NamespaceUser } {
  const read = sql(
    connection,
    `SELECT m.revision, m.content, iif(substr(e.entry, ?, 4) = ?, p.embedded_chars, 0) AS "from"
     FROM pending_embedding p CROSS JOIN memory m USING (ordinal) LEFT JOIN recall_entry e USING (ordinal)
     WHERE p.ordinal = ?`,
  );
  const memories: PendingEmbedding[] = [];
  let after: NamespaceUser | undefined;
  let chars = 0;
  for (const { ordinal, namespace, userId, turn } of places) {
    const row = read.get(MODEL_OFFSET + 1, encodeModel(number), ordinal) as
      | (Omit<PendingEmbedding, 'ordinal'> & { from: number })
      | undefined;
    if (!row) continue;
    const { from, ...text } = row;
    chars += text.content.length;
    if (memories.length > 0 && chars > maxChars) break;
    memories.push({ ordinal, ...text, ...(from > 0 && { from }) });
    if (turn === 0) after = { namespace, userId };
  }
  return { memories, ...(after && { after }) };
}
