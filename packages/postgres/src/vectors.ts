import {
  CHANGED_UNTIL,
  type ChangedUntil,
  changedUntil,
  count,
  deleteProperty,
  type EmbeddingBatch,
  type MemoryVectors,
  type ModelInUse,
  modelInUse,
  type PendingEmbedding,
  type PendingEmbeddings,
  packStates,
  raw,
  setProperty,
  sql,
} from '@memoryd/engine/storage-kit';
import type { Connection } from './connection.ts';
import type { Transaction } from './dialect.ts';
import { CLAIM_END } from './recall-entry.ts';

/** Condition that is always true, so that the index on (reembed, ordinal) can find rows by ordinal. */
const ANY_QUEUE = raw("reembed = ANY('{false,true}')");

/** See `Storage.putVectors`. Skips memories whose text has changed since the embedding. */
export async function putVectors(
  connection: Connection,
  modelId: string,
  vectors: readonly MemoryVectors[],
): Promise<number[]> {
  const waiting = await connection.rows<{ namespace: string }>(sql`
    SELECT DISTINCT namespace FROM pending_embedding
    WHERE ${ANY_QUEUE} AND ordinal = ANY(${vectors.map((memory) => memory.ordinal)}::bigint[])`);
  if (waiting.length === 0) return [];
  const shared = waiting.map(({ namespace }) => namespace);
  return connection.write({ exclusiveNamespaces: [], shared }, async (transaction) => {
    const model = await modelInUse(transaction);
    if (model?.modelId !== modelId) return [];
    const namespaces = await removePending(transaction, vectors);
    const current = vectors.filter(({ ordinal }) => namespaces.has(ordinal));
    await recordDimensions(transaction, model, current);
    await insertVectors(transaction, model, current, namespaces);
    return [...namespaces.keys()];
  });
}

/** Removes memories from the queue if the vectors belong to their current texts. Returns the namespaces by ordinal. */
async function removePending(
  transaction: Transaction,
  vectors: readonly MemoryVectors[],
): Promise<Map<number, string>> {
  const removed = await transaction.rows<{ ordinal: number; namespace: string }>(sql`
    WITH made AS (
      SELECT p.namespace, p.ordinal
      FROM unnest(${vectors.map((memory) => memory.ordinal)}::bigint[],
        ${vectors.map((memory) => memory.revision)}::integer[]) AS made(ordinal, revision)
      JOIN pending_embedding p ON p.ordinal = made.ordinal AND p.${ANY_QUEUE}
      JOIN memory m ON m.namespace = p.namespace AND m.ordinal = p.ordinal AND m.revision = made.revision
      ORDER BY p.ordinal FOR UPDATE OF p)
    DELETE FROM pending_embedding p USING made
    WHERE p.namespace = made.namespace AND p.ordinal = made.ordinal
    RETURNING p.ordinal, p.namespace`);
  return new Map(removed.map(({ ordinal, namespace }) => [ordinal, namespace]));
}

async function insertVectors(
  transaction: Transaction,
  model: ModelInUse,
  memories: readonly MemoryVectors[],
  namespaces: ReadonlyMap<number, string>,
): Promise<void> {
  const ordinals = memories.map((memory) => memory.ordinal);
  const of = ordinals.map((ordinal) => namespaces.get(ordinal));
  const parts = memories.flatMap(({ ordinal, vectors }) =>
    vectors.map((vector, part) => ({
      namespace: namespaces.get(ordinal),
      ordinal,
      part,
      embedding: `[${vector.join()}]`,
    })),
  );
  await transaction.run(sql`
    UPDATE recall_entry e SET model = ${model.number}
    FROM unnest(${of}::text[], ${ordinals}::bigint[]) AS embedded(namespace, ordinal)
    WHERE e.namespace = embedded.namespace AND e.ordinal = embedded.ordinal`);
  await transaction.run(sql`
    DELETE FROM memory_vector v USING unnest(${of}::text[], ${ordinals}::bigint[]) AS embedded(namespace, ordinal)
    WHERE v.namespace = embedded.namespace AND v.ordinal = embedded.ordinal`);
  await storeStates(transaction, model, memories, namespaces);
  await transaction.run(sql`
    INSERT INTO memory_vector (namespace, ordinal, part, model, embedding)
    SELECT namespace, ordinal, part, ${model.number}, embedding::halfvec
    FROM unnest(${parts.map((row) => row.namespace)}::text[], ${parts.map((row) => row.ordinal)}::bigint[],
      ${parts.map((row) => row.part)}::smallint[], ${parts.map((row) => row.embedding)}::text[])
      AS row(namespace, ordinal, part, embedding)`);
}

async function storeStates(
  transaction: Transaction,
  model: ModelInUse,
  memories: readonly MemoryVectors[],
  namespaces: ReadonlyMap<number, string>,
): Promise<void> {
  const rows = memories.map(({ ordinal, states }) => ({ ordinal, states: states ? packStates(states) : null }));
  await transaction.run(sql`
    WITH made AS (
        SELECT * FROM unnest(${rows.map(({ ordinal }) => namespaces.get(ordinal))}::text[],
          ${rows.map(({ ordinal }) => ordinal)}::bigint[], ${rows.map(({ states }) => states)}::bytea[])
          AS made(namespace, ordinal, states)),
      gone AS (
        DELETE FROM token_states s USING made
        WHERE made.states IS NULL AND s.namespace = made.namespace AND s.ordinal = made.ordinal)
    INSERT INTO token_states (namespace, ordinal, model, states)
    SELECT namespace, ordinal, ${model.number}, states FROM made WHERE states IS NOT NULL
    ON CONFLICT (namespace, ordinal) DO UPDATE SET model = excluded.model, states = excluded.states`);
}

// Stores the dimensions of a model's first vector. Throws if a vector has other dimensions, because recall compares the
// vectors of a model, and vectors of different dimensions cannot be compared.
async function recordDimensions(
  transaction: Transaction,
  model: ModelInUse,
  memories: readonly MemoryVectors[],
): Promise<void> {
  const lengths = new Set(memories.flatMap(({ vectors }) => vectors.map((vector) => vector.length)));
  const [first] = lengths;
  if (first === undefined) return;
  const recorded = await transaction.row<{ dimensions: number }>(sql`
    UPDATE embedding_model SET dimensions = ${first} WHERE no = ${model.number} AND dimensions IS NULL
    RETURNING dimensions`);
  // The update waits for another process that records the length at the same time. The length is then read again.
  const dimensions = recorded?.dimensions ?? model.dimensions ?? (await modelInUse(transaction))?.dimensions;
  for (const length of lengths) {
    if (length === dimensions) continue;
    throw new Error(
      `the embedding model returned a vector with ${length} dimensions instead of ${dimensions}; choose another model`,
    );
  }
}

const MAX_COUNTED = 1000;

/**
 * See `Storage.pendingEmbeddings`. Claims the returned memories for this process for 30 seconds, and skips memories
 * that another process has claimed, so that processes share the work. Releases all claims of this process if its model
 * is not in use.
 */
export async function pendingEmbeddings(
  connection: Connection,
  modelId: string,
  batch: EmbeddingBatch,
): Promise<PendingEmbeddings> {
  if ((await modelInUse(connection))?.modelId !== modelId) {
    // Release the claims, so that processes with the model in use embed the memories that this process has stored.
    await dropClaims(connection);
    return { isInUse: false, memories: [], reembed: false, waiting: 0 };
  }
  const waiting = await count(
    connection,
    sql`(SELECT namespace, ordinal FROM pending_embedding WHERE NOT reembed ORDER BY ordinal LIMIT ${MAX_COUNTED}) AS next
      JOIN memory m USING (namespace, ordinal)`,
  );
  const reembed = waiting === 0;
  let memories = await claim(connection, reembed, batch);
  // Continue an unfinished change of the model.
  if (memories.length === 0 && (await queueSome(connection))) memories = await claim(connection, reembed, batch);
  return { isInUse: true, reembed, memories, waiting };
}

function claim(
  connection: Connection,
  reembed: boolean,
  { limit, maxChars, maxReembeddingChars, newest }: EmbeddingBatch,
) {
  const order = raw(newest ? 'DESC' : 'ASC');
  return connection.rows<PendingEmbedding>(sql`
    WITH free AS MATERIALIZED (
        SELECT namespace, ordinal FROM pending_embedding
        WHERE reembed = ${reembed} AND (claimed_by = ${connection.process} OR claimed_until < clock_timestamp())
        ORDER BY ordinal ${order} LIMIT ${limit} FOR UPDATE SKIP LOCKED),
      text AS (
        SELECT m.namespace, m.ordinal, m.revision, m.content,
          row_number() OVER in_turn AS place, sum(char_length(m.content)) OVER in_turn AS chars
        FROM free JOIN memory m USING (namespace, ordinal) WINDOW in_turn AS (ORDER BY m.ordinal ${order})),
      claimed AS (
        UPDATE pending_embedding p SET claimed_by = ${connection.process}, claimed_until = ${CLAIM_END}
        FROM text WHERE p.namespace = text.namespace AND p.ordinal = text.ordinal
          AND (text.place = 1 OR text.chars <= ${reembed ? maxReembeddingChars : maxChars})
        RETURNING p.namespace, p.ordinal)
    SELECT ordinal, revision, content FROM text JOIN claimed USING (namespace, ordinal) ORDER BY place`);
}

/** Releases all claims of this process. */
export async function dropClaims(connection: Connection): Promise<void> {
  await connection.run(
    sql`UPDATE pending_embedding SET claimed_by = '', claimed_until = '-infinity'
        WHERE claimed_by = ${connection.process}`,
  );
}

/**
 * Memories queued in one transaction during a change of the model. Small, because the transaction blocks all writers.
 */
const QUEUE_BATCH = 2000;

/**
 * Sets the model in use, and queues memories without vectors of the model in batches. The progress is stored in the
 * database, so that another process can continue the change, and several processes can queue batches concurrently. See
 * `Storage.useModel`.
 */
export async function useModel(connection: Connection, modelId: string, signal?: AbortSignal): Promise<number> {
  if ((await modelInUse(connection))?.modelId !== modelId) {
    await connection.write('model', (transaction) => beginChange(transaction, modelId));
  }
  while (!signal?.aborted && (await queueSome(connection))) {
    // Continue until all memories without vectors of the model are queued.
  }
  return count(connection, sql`pending_embedding WHERE reembed`);
}

async function beginChange(transaction: Transaction, modelId: string): Promise<void> {
  // Another process may have started the change in the meantime.
  if ((await modelInUse(transaction))?.modelId === modelId) return;
  await transaction.run(sql`UPDATE embedding_model SET in_use = false WHERE in_use`);
  await transaction.run(sql`
    INSERT INTO embedding_model (model_id, in_use) VALUES (${modelId}, true)
    ON CONFLICT (model_id) DO UPDATE SET in_use = true`);
  await recordProgress(transaction, { namespace: '', ordinal: 0 });
}

/** Queues the next batch of an unfinished change of the model. Returns false if no change is unfinished. */
async function queueSome(connection: Connection): Promise<boolean> {
  if (!(await changedUntil(connection))) return false;
  await connection.write('model', queueNextBatch);
  return true;
}

async function queueNextBatch(transaction: Transaction): Promise<void> {
  const after = await changedUntil(transaction);
  if (!after) return;
  const { number } = (await modelInUse(transaction)) as ModelInUse;
  const next = await transaction.rows<ChangedUntil & { model: number }>(sql`
    SELECT namespace, ordinal, model FROM recall_entry
    WHERE (namespace, ordinal) > (${after.namespace}, ${after.ordinal}::bigint)
    ORDER BY namespace, ordinal LIMIT ${QUEUE_BATCH}`);
  await insertPending(
    transaction,
    next.filter(({ model }) => model !== number),
  );
  await deletePending(
    transaction,
    next.filter(({ model }) => model === number),
  );
  await recordProgress(transaction, next.at(-1));
}

/**
 * Queues memories for embedding; memories with vectors of another model have low priority. Memories that are already
 * queued keep their priority.
 */
async function insertPending(
  transaction: Transaction,
  entries: readonly (ChangedUntil & { model: number })[],
): Promise<void> {
  if (entries.length === 0) return;
  await transaction.run(sql`
    INSERT INTO pending_embedding (namespace, ordinal, reembed)
    SELECT * FROM unnest(${entries.map(({ namespace }) => namespace)}::text[],
      ${entries.map(({ ordinal }) => ordinal)}::bigint[], ${entries.map(({ model }) => model !== 0)}::boolean[])
    ON CONFLICT DO NOTHING`);
}

/** Removes memories from the queue that already have vectors of the new model, because this model was in use before. */
async function deletePending(transaction: Transaction, entries: readonly ChangedUntil[]): Promise<void> {
  if (entries.length === 0) return;
  await transaction.run(sql`
    DELETE FROM pending_embedding p
    USING unnest(${entries.map(({ namespace }) => namespace)}::text[],
      ${entries.map(({ ordinal }) => ordinal)}::bigint[]) AS had(namespace, ordinal)
    WHERE p.namespace = had.namespace AND p.ordinal = had.ordinal`);
}

async function recordProgress(transaction: Transaction, until: ChangedUntil | undefined): Promise<void> {
  if (!until) return deleteProperty(transaction, CHANGED_UNTIL);
  const { namespace, ordinal } = until;
  await setProperty(transaction, CHANGED_UNTIL, JSON.stringify({ namespace, ordinal }));
}
