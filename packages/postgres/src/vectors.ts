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
import { CLAIM } from './recall-entry.ts';

/** A condition that lets the index by turn find rows by their ordinals alone. */
const OF_EITHER_TURN = raw("anew = ANY('{false,true}')");

/** Writes vectors of texts that have not changed. See `Storage.putVectors`. */
export async function putVectors(
  connection: Connection,
  modelId: string,
  vectors: readonly MemoryVectors[],
): Promise<number[]> {
  const waiting = await connection.rows<{ namespace: string }>(sql`
    SELECT DISTINCT namespace FROM pending_embedding
    WHERE ${OF_EITHER_TURN} AND ordinal = ANY(${vectors.map((memory) => memory.ordinal)}::bigint[])`);
  if (waiting.length === 0) return [];
  const shared = waiting.map(({ namespace }) => namespace);
  return connection.write({ exclusiveNamespaces: [], shared }, async (transaction) => {
    const model = await modelInUse(transaction);
    if (model?.modelId !== modelId) return [];
    const taken = await takeWaiting(transaction, vectors);
    const kept = vectors.filter(({ ordinal }) => taken.has(ordinal));
    await noteDimensions(transaction, model, kept);
    await keep(transaction, model, kept, taken);
    return [...taken.keys()];
  });
}

/** Lets memories wait no longer whose texts are what these vectors were made from; answers their namespaces. */
async function takeWaiting(transaction: Transaction, vectors: readonly MemoryVectors[]): Promise<Map<number, string>> {
  const taken = await transaction.rows<{ ordinal: number; namespace: string }>(sql`
    WITH made AS (
      SELECT p.namespace, p.ordinal
      FROM unnest(${vectors.map((memory) => memory.ordinal)}::bigint[],
        ${vectors.map((memory) => memory.revision)}::integer[]) AS made(ordinal, revision)
      JOIN pending_embedding p ON p.ordinal = made.ordinal AND p.${OF_EITHER_TURN}
      JOIN memory m ON m.namespace = p.namespace AND m.ordinal = p.ordinal AND m.revision = made.revision
      ORDER BY p.ordinal FOR UPDATE OF p)
    DELETE FROM pending_embedding p USING made
    WHERE p.namespace = made.namespace AND p.ordinal = made.ordinal
    RETURNING p.ordinal, p.namespace`);
  return new Map(taken.map(({ ordinal, namespace }) => [ordinal, namespace]));
}

async function keep(
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
    FROM unnest(${of}::text[], ${ordinals}::bigint[]) AS kept(namespace, ordinal)
    WHERE e.namespace = kept.namespace AND e.ordinal = kept.ordinal`);
  await transaction.run(sql`
    DELETE FROM memory_vector v USING unnest(${of}::text[], ${ordinals}::bigint[]) AS kept(namespace, ordinal)
    WHERE v.namespace = kept.namespace AND v.ordinal = kept.ordinal`);
  await keepStates(transaction, model, memories, namespaces);
  await transaction.run(sql`
    INSERT INTO memory_vector (namespace, ordinal, part, model, embedding)
    SELECT namespace, ordinal, part, ${model.number}, embedding::halfvec
    FROM unnest(${parts.map((row) => row.namespace)}::text[], ${parts.map((row) => row.ordinal)}::bigint[],
      ${parts.map((row) => row.part)}::smallint[], ${parts.map((row) => row.embedding)}::text[])
      AS row(namespace, ordinal, part, embedding)`);
}

async function keepStates(
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

// One model makes vectors of one length, or they could not be compared.
async function noteDimensions(
  transaction: Transaction,
  model: ModelInUse,
  memories: readonly MemoryVectors[],
): Promise<void> {
  const lengths = new Set(memories.flatMap(({ vectors }) => vectors.map((vector) => vector.length)));
  const [first] = lengths;
  if (first === undefined) return;
  const noted = await transaction.row<{ dimensions: number }>(sql`
    UPDATE embedding_model SET dimensions = ${first} WHERE no = ${model.number} AND dimensions IS NULL
    RETURNING dimensions`);
  // Where it was noted by another process meanwhile, the update has waited for that.
  const dimensions = noted?.dimensions ?? model.dimensions ?? (await modelInUse(transaction))?.dimensions;
  for (const length of lengths) {
    if (length === dimensions) continue;
    throw new Error(`the model made a vector of ${length} dimensions, where it had made ${dimensions}`);
  }
}

const COUNTED_UP_TO = 1000;

/**
 * See `Storage.pendingEmbeddings`. What is answered is claimed for this process for half a minute, so that processes
 * share the work; what others have claimed is passed over. A process with another model than that in use has no claims.
 */
export async function pendingEmbeddings(
  connection: Connection,
  modelId: string,
  batch: EmbeddingBatch,
): Promise<PendingEmbeddings> {
  if ((await modelInUse(connection))?.modelId !== modelId) {
    // What this process has stored since is for others to embed.
    await dropClaims(connection);
    return { isInUse: false, memories: [], anew: false, waiting: 0 };
  }
  const waiting = await count(
    connection,
    sql`(SELECT namespace, ordinal FROM pending_embedding WHERE NOT anew ORDER BY ordinal LIMIT ${COUNTED_UP_TO}) AS next
      JOIN memory m USING (namespace, ordinal)`,
  );
  const anew = waiting === 0;
  let memories = await claim(connection, anew, batch);
  // A change of the model that whoever began it has left.
  if (memories.length === 0 && (await letSomeWait(connection))) memories = await claim(connection, anew, batch);
  return { isInUse: true, anew, memories, waiting };
}

function claim(connection: Connection, anew: boolean, { limit, maxChars, maxCharsAnew, newest }: EmbeddingBatch) {
  const order = raw(newest ? 'DESC' : 'ASC');
  return connection.rows<PendingEmbedding>(sql`
    WITH free AS MATERIALIZED (
        SELECT namespace, ordinal FROM pending_embedding
        WHERE anew = ${anew} AND (claimed_by = ${connection.process} OR claimed_until < clock_timestamp())
        ORDER BY ordinal ${order} LIMIT ${limit} FOR UPDATE SKIP LOCKED),
      text AS (
        SELECT m.namespace, m.ordinal, m.revision, m.content,
          row_number() OVER in_turn AS place, sum(char_length(m.content)) OVER in_turn AS chars
        FROM free JOIN memory m USING (namespace, ordinal) WINDOW in_turn AS (ORDER BY m.ordinal ${order})),
      claimed AS (
        UPDATE pending_embedding p SET claimed_by = ${connection.process}, claimed_until = ${CLAIM}
        FROM text WHERE p.namespace = text.namespace AND p.ordinal = text.ordinal
          AND (text.place = 1 OR text.chars <= ${anew ? maxCharsAnew : maxChars})
        RETURNING p.namespace, p.ordinal)
    SELECT ordinal, revision, content FROM text JOIN claimed USING (namespace, ordinal) ORDER BY place`);
}

/** Lets others have at once what this process has claimed. */
export async function dropClaims(connection: Connection): Promise<void> {
  await connection.run(
    sql`UPDATE pending_embedding SET claimed_by = '', claimed_until = '-infinity'
        WHERE claimed_by = ${connection.process}`,
  );
}

/** Memories that one transaction lets wait for another model, so that writers get their turn: all of them are held up. */
const LET_WAIT_AT_ONCE = 2000;

/**
 * Makes a model the one in use and lets memories without its vectors wait for them, a part at a time. How far that is
 * stands in the database: whoever uses the model next goes on with what was left, and of several processes each does a
 * part. See `Storage.useModel`.
 */
export async function useModel(connection: Connection, modelId: string, signal?: AbortSignal): Promise<number> {
  if ((await modelInUse(connection))?.modelId !== modelId) {
    await connection.write('model', (transaction) => beginChange(transaction, modelId));
  }
  while (!signal?.aborted && (await letSomeWait(connection))) {
    // Until all that lack its vectors wait.
  }
  return count(connection, sql`pending_embedding WHERE anew`);
}

async function beginChange(transaction: Transaction, modelId: string): Promise<void> {
  // Another process may have begun it meanwhile.
  if ((await modelInUse(transaction))?.modelId === modelId) return;
  await transaction.run(sql`UPDATE embedding_model SET in_use = false WHERE in_use`);
  await transaction.run(sql`
    INSERT INTO embedding_model (model_id, in_use) VALUES (${modelId}, true)
    ON CONFLICT (model_id) DO UPDATE SET in_use = true`);
  await noteChanged(transaction, { namespace: '', ordinal: 0 });
}

/** Goes on with a change of the model in use that is not done; answers whether there was one. */
async function letSomeWait(connection: Connection): Promise<boolean> {
  if (!(await changedUntil(connection))) return false;
  await connection.write('model', letNextWait);
  return true;
}

async function letNextWait(transaction: Transaction): Promise<void> {
  const after = await changedUntil(transaction);
  if (!after) return;
  const { number } = (await modelInUse(transaction)) as ModelInUse;
  const next = await transaction.rows<ChangedUntil & { model: number }>(sql`
    SELECT namespace, ordinal, model FROM recall_entry
    WHERE (namespace, ordinal) > (${after.namespace}, ${after.ordinal}::bigint)
    ORDER BY namespace, ordinal LIMIT ${LET_WAIT_AT_ONCE}`);
  await letWait(
    transaction,
    next.filter(({ model }) => model !== number),
  );
  await waitNoLonger(
    transaction,
    next.filter(({ model }) => model === number),
  );
  await noteChanged(transaction, next.at(-1));
}

/** Lets memories wait, behind others where they had vectors; what waits already stays where it is. */
async function letWait(
  transaction: Transaction,
  entries: readonly (ChangedUntil & { model: number })[],
): Promise<void> {
  if (entries.length === 0) return;
  await transaction.run(sql`
    INSERT INTO pending_embedding (namespace, ordinal, anew)
    SELECT * FROM unnest(${entries.map(({ namespace }) => namespace)}::text[],
      ${entries.map(({ ordinal }) => ordinal)}::bigint[], ${entries.map(({ model }) => model !== 0)}::boolean[])
    ON CONFLICT DO NOTHING`);
}

/** Of what has vectors of a model that comes back, none has to wait. */
async function waitNoLonger(transaction: Transaction, entries: readonly ChangedUntil[]): Promise<void> {
  if (entries.length === 0) return;
  await transaction.run(sql`
    DELETE FROM pending_embedding p
    USING unnest(${entries.map(({ namespace }) => namespace)}::text[],
      ${entries.map(({ ordinal }) => ordinal)}::bigint[]) AS had(namespace, ordinal)
    WHERE p.namespace = had.namespace AND p.ordinal = had.ordinal`);
}

async function noteChanged(transaction: Transaction, until: ChangedUntil | undefined): Promise<void> {
  if (!until) return deleteProperty(transaction, CHANGED_UNTIL);
  const { namespace, ordinal } = until;
  await setProperty(transaction, CHANGED_UNTIL, JSON.stringify({ namespace, ordinal }));
}
