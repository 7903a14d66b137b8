import {
  changedUntil,
  count,
  EMBEDDING_LIMITS,
  type EmbeddingBatch,
  type FirstVectors,
  type MemoryVectors,
  type ModelInUse,
  modelInUse,
  type PendingEmbeddings,
  raw,
  setChangedUntil,
  sql,
} from '@memoryd/core';
import { areIntactStates, packStates, toInt8 } from '@memoryd/search';
import type { Connection } from './connection.ts';
import type { Transaction } from './dialect.ts';
import { CLAIM_END, LONG, REST, SHORT } from './recall-entry.ts';

/**
 * See `Storage.putVectors`. Skips memories whose text has changed since the embedding, and pieces that do not continue
 * the vectors of their memory.
 */
export async function putVectors(
  connection: Connection,
  modelId: string,
  vectors: readonly MemoryVectors[],
): Promise<number[]> {
  const waiting = await connection.rows<{ namespace: string }>(sql`
    SELECT DISTINCT namespace FROM pending_embedding
    WHERE ordinal = ANY(${vectors.map((memory) => memory.ordinal)}::bigint[])`);
  if (waiting.length === 0) return [];
  const shared = waiting.map(({ namespace }) => namespace);
  return connection.write({ exclusiveNamespaces: [], shared }, async (transaction) => {
    const model = await modelInUse(transaction);
    if (model?.modelId !== modelId) return [];
    const namespaces = await lockPending(transaction, model, vectors);
    const current = vectors.filter(({ ordinal }) => namespaces.has(ordinal));
    await recordPieces(transaction, current, namespaces);
    await recordDimensions(transaction, model, current);
    await insertVectors(transaction, model, current, namespaces);
    return [...namespaces.keys()];
  });
}

/** UTF-16 units of the text of the queue row `p` that have vectors of a model; `e` is the index entry. */
const embeddedChars = ({ number }: ModelInUse) => sql`CASE WHEN e.model = ${number} THEN p.embedded_chars ELSE 0 END`;

/**
 * Locks the queue rows of memories whose current texts the vectors belong to and whose vectors they continue. Returns
 * the namespaces by ordinal.
 */
async function lockPending(
  transaction: Transaction,
  model: ModelInUse,
  vectors: readonly MemoryVectors[],
): Promise<Map<number, string>> {
  const locked = await transaction.rows<{ ordinal: number; namespace: string }>(sql`
    SELECT p.namespace, p.ordinal
    FROM unnest(${vectors.map((memory) => memory.ordinal)}::bigint[],
      ${vectors.map((memory) => memory.revision)}::integer[],
      ${vectors.map(({ from = 0 }) => from)}::integer[]) AS made(ordinal, revision, start)
    JOIN pending_embedding p ON p.ordinal = made.ordinal
    JOIN memory m ON m.namespace = p.namespace AND m.ordinal = p.ordinal AND m.revision = made.revision
    JOIN recall_entry e ON e.namespace = p.namespace AND e.ordinal = p.ordinal
    WHERE made.start = ${embeddedChars(model)}
    ORDER BY p.ordinal FOR UPDATE OF p`);
  return new Map(locked.map(({ ordinal, namespace }) => [ordinal, namespace]));
}

/** Removes memories from the queue after their last piece, and records the end of other pieces. */
async function recordPieces(
  transaction: Transaction,
  memories: readonly MemoryVectors[],
  namespaces: ReadonlyMap<number, string>,
): Promise<void> {
  const ended = memories.filter(({ next }) => next === undefined);
  await transaction.run(sql`
    DELETE FROM pending_embedding p
    USING unnest(${ended.map(({ ordinal }) => namespaces.get(ordinal))}::text[],
      ${ended.map(({ ordinal }) => ordinal)}::bigint[]) AS ended(namespace, ordinal)
    WHERE p.namespace = ended.namespace AND p.ordinal = ended.ordinal`);
  for (const { ordinal, next } of memories) {
    if (next === undefined) continue;
    await transaction.run(sql`
      UPDATE pending_embedding SET embedded_chars = ${next}, stage = ${REST}
      WHERE namespace = ${namespaces.get(ordinal)} AND ordinal = ${ordinal}`);
  }
}

async function insertVectors(
  transaction: Transaction,
  model: ModelInUse,
  memories: readonly MemoryVectors[],
  namespaces: ReadonlyMap<number, string>,
): Promise<void> {
  const ordinals = memories.map((memory) => memory.ordinal);
  const of = ordinals.map((ordinal) => namespaces.get(ordinal));
  const firstPieces = memories.filter(({ from = 0 }) => from === 0).map(({ ordinal }) => ordinal);
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
    WHERE v.namespace = embedded.namespace AND v.ordinal = embedded.ordinal
      AND v.ordinal = ANY(${firstPieces}::bigint[])`);
  await storeStates(transaction, model, memories, namespaces);
  await transaction.run(sql`
    INSERT INTO memory_vector (namespace, ordinal, part, model, embedding)
    SELECT namespace, ordinal, part + (
        SELECT coalesce(max(v.part) + 1, 0) FROM memory_vector v
        WHERE v.namespace = row.namespace AND v.ordinal = row.ordinal), ${model.number}, embedding::halfvec
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
  const earlier = await readEarlierStates(transaction, model, memories, namespaces);
  const rows = memories
    .filter(({ from = 0, states }) => from === 0 || states)
    .map(({ ordinal, states }) => ({ ordinal, states: states ? packStates(states, earlier.get(ordinal)) : null }));
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

/** Returns the packed states of the earlier pieces of memories, by ordinal. */
async function readEarlierStates(
  transaction: Transaction,
  { number }: ModelInUse,
  memories: readonly MemoryVectors[],
  namespaces: ReadonlyMap<number, string>,
): Promise<Map<number, Buffer>> {
  const continued = memories.filter(({ from = 0, states }) => from > 0 && states).map(({ ordinal }) => ordinal);
  if (continued.length === 0) return new Map();
  const rows = await transaction.rows<{ ordinal: number; states: Buffer }>(sql`
    SELECT s.ordinal, s.states FROM token_states s
    JOIN unnest(${continued.map((ordinal) => namespaces.get(ordinal))}::text[], ${continued}::bigint[])
      AS continued(namespace, ordinal) USING (namespace, ordinal)
    WHERE s.model = ${number}`);
  for (const { ordinal, states } of rows) {
    // A new checksum would hide the corruption.
    if (!areIntactStates(states)) throw new Error(`the token states of memory ${ordinal} are corrupted`);
  }
  return new Map(rows.map(({ ordinal, states }) => [ordinal, states]));
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

/** Bytes before the components in pgvector's binary format of a vector, whose components are 32-bit big-endian floats. */
const VECTOR_HEAD_BYTES = 4;

/** See `Storage.firstVectors`. */
export async function firstVectors(
  connection: Connection,
  namespace: string,
  ordinals: readonly number[],
): Promise<FirstVectors | undefined> {
  const model = await modelInUse(connection);
  if (!model) return undefined;
  const rows = await connection.rows<{ ordinal: number; vector: Buffer }>(sql`
    SELECT v.ordinal, vector_send(v.embedding::vector) AS vector FROM memory_vector v
    WHERE v.namespace = ${namespace} AND v.ordinal = ANY(${ordinals}::bigint[]) AND v.part = 0
      AND v.model = ${model.number}`);
  return {
    modelId: model.modelId,
    ordinals: rows.map(({ ordinal }) => ordinal),
    vectors: new Uint8Array(Buffer.concat(rows.map(({ vector }) => toInt8(readComponents(vector))))),
  };
}

function readComponents(vector: Buffer): Float32Array {
  const components = Buffer.from(vector.subarray(VECTOR_HEAD_BYTES)).swap32();
  return Float32Array.from({ length: components.length / 4 }, (_, i) => components.readFloatLE(4 * i));
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
  const model = await modelInUse(connection);
  const settled = await findSettled(connection, batch.awaited ?? []);
  if (model?.modelId !== modelId) {
    // Release the claims, so that processes with the model in use embed the memories that this process has stored.
    await dropClaims(connection);
    return { isInUse: false, memories: [], reembed: false, waiting: 0, settled };
  }
  const waiting = await count(
    connection,
    sql`(SELECT namespace, ordinal FROM pending_embedding WHERE NOT reembed AND stage = ${SHORT} LIMIT ${MAX_COUNTED}) AS next
      JOIN memory m USING (namespace, ordinal)`,
  );
  let claimed = await claimFirst(connection, model, batch);
  // Continue an unfinished change of the model.
  if (!claimed && (await queueSome(connection))) claimed = await claimFirst(connection, model, batch);
  return { isInUse: true, waiting, settled, ...(claimed ?? { reembed: true, memories: [] }) };
}

async function findSettled(connection: Connection, awaited: readonly number[]): Promise<number[]> {
  if (awaited.length === 0) return [];
  const unsettled = await connection.rows<{ ordinal: number }>(sql`
    SELECT ordinal FROM pending_embedding WHERE ordinal = ANY(${awaited}::bigint[]) AND embedded_chars = 0`);
  const ordinals = new Set(unsettled.map(({ ordinal }) => ordinal));
  return awaited.filter((ordinal) => !ordinals.has(ordinal));
}

type Claimed = Pick<PendingEmbeddings, 'reembed' | 'memories' | 'after'>;

/** Claims texts of the first queue that has any. Returns undefined if all queues of the batch are empty. */
async function claimFirst(
  connection: Connection,
  model: ModelInUse,
  batch: EmbeddingBatch,
): Promise<Claimed | undefined> {
  for (const reembed of [false, true]) {
    for (const stage of batch.long ? [LONG, REST] : [SHORT]) {
      const queue = { reembed, stage };
      let claimed = await claim(connection, model, queue, batch);
      if (claimed.length === 0 && batch.after) {
        claimed = await claim(connection, model, queue, { ...batch, after: undefined });
      }
      if (claimed.length > 0) return toClaimed(claimed, reembed);
    }
  }
  return undefined;
}

function toClaimed(rows: readonly ClaimedRow[], reembed: boolean): Claimed {
  const memories = rows.map(({ ordinal, revision, content, from }) => ({
    ordinal,
    revision,
    content,
    ...(from > 0 && { from }),
  }));
  const last = rows.findLast(({ turn }) => turn === 1);
  return { reembed, memories, ...(last && { after: { namespace: last.namespace, userId: last.userId } }) };
}

type PendingEmbedding = PendingEmbeddings['memories'][number];
type ChangedUntil = NonNullable<Awaited<ReturnType<typeof changedUntil>>>;
type NamespaceUser = NonNullable<EmbeddingBatch['after']>;

/** A claimed memory. `turn` is its place among the memories of its user in the batch, from 1 on. */
type ClaimedRow = PendingEmbedding &
  NamespaceUser & {
    from: number;
    turn: number;
  };

/** The rows of `pending_embedding` with this priority. */
interface Queue {
  reembed: boolean;
  stage: number;
}

/** Claims the next texts of a queue. The users after `after` take turns, text by text. */
function claim(
  connection: Connection,
  model: ModelInUse,
  { reembed, stage }: Queue,
  { limit, maxChars, maxReembeddingChars, newest, after = { namespace: '', userId: '' } }: EmbeddingBatch,
) {
  const order = raw(newest ? 'DESC' : 'ASC');
  const queued = sql`reembed = ${reembed} AND stage = ${stage}`;
  return connection.rows<ClaimedRow>(sql`
    WITH RECURSIVE users AS (
        (SELECT namespace, user_id, 1 AS place FROM pending_embedding
         WHERE ${queued} AND (namespace, user_id) > (${after.namespace}, ${after.userId})
         ORDER BY namespace, user_id LIMIT 1)
        UNION ALL
        SELECT next.namespace, next.user_id, users.place + 1 FROM users CROSS JOIN LATERAL (
          SELECT namespace, user_id FROM pending_embedding p
          WHERE ${queued} AND (p.namespace, p.user_id) > (users.namespace, users.user_id)
          ORDER BY p.namespace, p.user_id LIMIT 1) AS next
        WHERE users.place < ${EMBEDDING_LIMITS.batchUsers}),
      free AS MATERIALIZED (
        SELECT own.*, users.place FROM users CROSS JOIN LATERAL (
          SELECT namespace, ordinal, user_id, embedded_chars FROM pending_embedding p
          WHERE ${queued} AND p.namespace = users.namespace AND p.user_id = users.user_id
            AND (claimed_by = ${connection.process} OR claimed_until < clock_timestamp())
          ORDER BY p.ordinal ${order} LIMIT ceil(${limit} / (SELECT count(*) FROM users)::float8)::bigint
          FOR UPDATE SKIP LOCKED) AS own),
      turns AS (
        SELECT *, row_number() OVER (PARTITION BY place ORDER BY ordinal ${order}) AS turn FROM free),
      text AS (
        SELECT m.namespace, m.ordinal, m.revision, m.content, p.user_id, p.turn, p.place,
          ${embeddedChars(model)} AS start,
          row_number() OVER in_turn AS number, sum(char_length(m.content)) OVER in_turn AS chars
        FROM turns p JOIN memory m USING (namespace, ordinal) LEFT JOIN recall_entry e USING (namespace, ordinal)
        WINDOW in_turn AS (ORDER BY p.turn, p.place)),
      claimed AS (
        UPDATE pending_embedding p SET claimed_by = ${connection.process}, claimed_until = ${CLAIM_END}
        FROM text WHERE p.namespace = text.namespace AND p.ordinal = text.ordinal AND text.number <= ${limit}
          AND (text.number = 1 OR text.chars <= ${reembed ? maxReembeddingChars : maxChars})
        RETURNING p.namespace, p.ordinal)
    SELECT namespace, user_id AS "userId", ordinal, revision, content, start AS "from", turn
    FROM text JOIN claimed USING (namespace, ordinal) ORDER BY number`);
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
  await setChangedUntil(transaction, { namespace: '', ordinal: 0 });
}

/** Queues the next batch of an unfinished change of the model. Returns false if no change is unfinished. */
async function queueSome(connection: Connection): Promise<boolean> {
  if (!(await changedUntil(connection))) return false;
  await connection.write('model', queueNextBatch);
  return true;
}

/** An index entry that a change of the model processes. */
interface NextEntry extends ChangedUntil {
  model: number;
  userId: string;
  isLong: boolean;
}

async function queueNextBatch(transaction: Transaction): Promise<void> {
  const after = await changedUntil(transaction);
  if (!after) return;
  const { number } = (await modelInUse(transaction)) as ModelInUse;
  const next = await transaction.rows<NextEntry>(sql`
    SELECT e.namespace, e.ordinal, e.model, m.user_id AS "userId", octet_length(m.content) > ${EMBEDDING_LIMITS.shortText} AS "isLong"
    FROM (SELECT namespace, ordinal, model FROM recall_entry
      WHERE (namespace, ordinal) > (${after.namespace}, ${after.ordinal}::bigint)
      ORDER BY namespace, ordinal LIMIT ${QUEUE_BATCH}) AS e
    JOIN memory m USING (namespace, ordinal) ORDER BY e.namespace, e.ordinal`);
  await insertPending(
    transaction,
    next.filter(({ model }) => model !== number),
  );
  await deletePending(
    transaction,
    next.filter(({ model }) => model === number),
  );
  await setChangedUntil(transaction, next.at(-1));
}

/**
 * Queues memories for embedding; memories with vectors of another model have low priority. Memories that are already
 * queued keep their priority, unless another model has embedded their beginning.
 */
async function insertPending(transaction: Transaction, entries: readonly NextEntry[]): Promise<void> {
  if (entries.length === 0) return;
  await transaction.run(sql`
    INSERT INTO pending_embedding (namespace, ordinal, user_id, reembed, stage)
    SELECT * FROM unnest(${entries.map(({ namespace }) => namespace)}::text[],
      ${entries.map(({ ordinal }) => ordinal)}::bigint[], ${entries.map(({ userId }) => userId)}::text[],
      ${entries.map(({ model }) => model !== 0)}::boolean[],
      ${entries.map(({ isLong }) => (isLong ? LONG : SHORT))}::smallint[])
    ON CONFLICT (namespace, ordinal) DO UPDATE SET reembed = true, stage = excluded.stage
      WHERE pending_embedding.embedded_chars > 0`);
}

/**
 * Removes memories from the queue that already have vectors of the new model, because this model was in use before.
 * Partially embedded memories stay.
 */
async function deletePending(transaction: Transaction, entries: readonly ChangedUntil[]): Promise<void> {
  if (entries.length === 0) return;
  await transaction.run(sql`
    DELETE FROM pending_embedding p
    USING unnest(${entries.map(({ namespace }) => namespace)}::text[],
      ${entries.map(({ ordinal }) => ordinal)}::bigint[]) AS had(namespace, ordinal)
    WHERE p.namespace = had.namespace AND p.ordinal = had.ordinal AND p.embedded_chars = 0`);
}
