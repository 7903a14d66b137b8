import {
  CHANGED_UNTIL,
  type ChangedUntil,
  changedUntil,
  count,
  type ModelInUse,
  modelInUse,
  sql,
} from '@memoryd/engine/storage-kit';
import type { Connection } from '../connection.ts';
import type { Transaction } from '../transaction.ts';

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
export async function letSomeWait(connection: Connection): Promise<boolean> {
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
  if (!until) {
    await transaction.run(sql`DELETE FROM property WHERE name = ${CHANGED_UNTIL}`);
    return;
  }
  const value = JSON.stringify({ namespace: until.namespace, ordinal: until.ordinal });
  await transaction.run(sql`
    INSERT INTO property (name, value) VALUES (${CHANGED_UNTIL}, ${value})
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`);
}
