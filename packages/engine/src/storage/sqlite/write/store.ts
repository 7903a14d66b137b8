import { LIMITS } from '@memoryd/contract/limits';
import type { NewMemory, StoreOutcome } from '../../../ports/storage-memories.ts';
import type { Quota } from '../../../ports/storage-namespaces.ts';
import type { StepResult } from '../../../ports/storage-runs.ts';
import { entriesIn, numbered } from '../../../recall-index/entry.ts';
import { takenByNew } from '../../quota.ts';
import { awaitDistilling } from '../../sql/candidates.ts';
import { selfOrSurvivor } from '../../sql/find-memory.ts';
import { readRooms } from '../../sql/namespace-quotas.ts';
import { settleExcess } from '../../sql/settle.ts';
import { sql as statement } from '../../sql/sql.ts';
import { type Connection, sql } from '../connection.ts';
import { entryOf } from '../entry-of.ts';
import type { FileTransaction } from '../transaction.ts';
import { finishInsert, type Inserted, insertRow } from './insert.ts';

/** How much each namespace may hold. */
export interface NamespaceLimits {
  workingMax: number;
  quota: Quota;
}

const NO_ENTRIES = new Uint8Array();

/**
 * Keeps memories in their order. See `Storage.storeMany`.
 *
 * @param entries those of the first of the memories that are made already, but for their ordinals; see `EntryMaker`
 */
export async function storeMany(
  transaction: FileTransaction,
  memories: readonly NewMemory[],
  { workingMax, quota }: NamespaceLimits,
  entries: Uint8Array = NO_ENTRIES,
): Promise<StoreOutcome[]> {
  const { connection } = transaction;
  const namespaces = new Set(memories.map((memory) => memory.namespace));
  const rooms = await readRooms(transaction, [...namespaces], quota);
  const made = entriesIn(entries);
  const inserted: Inserted[] = [];
  const outcomes: StoreOutcome[] = [];
  for (const [place, memory] of memories.entries()) {
    const refused = refusal(connection, memory) ?? rooms.take(memory.namespace, takenByNew(memory));
    if (refused) {
      outcomes.push(refused);
      continue;
    }
    const ordinal = insertRow(connection, memory, 'working');
    if (memory.supersedes !== null) await supersede(transaction, memory.namespace, memory.supersedes, memory.id);
    if (memory.idempotency) recordUse(connection, memory, memory.idempotency);
    const entry = made[place];
    inserted.push({ memory, ordinal, entry: entry ? numbered(entry, ordinal) : entryOf(memory, ordinal) });
    outcomes.push({ outcome: 'stored', ordinal });
  }
  await finishInsert(transaction, inserted, 'working');
  for (const namespace of namespaces) await settleExcess(transaction, namespace, workingMax);
  return outcomes;
}

function refusal(connection: Connection, memory: NewMemory): StoreOutcome | undefined {
  const earlier = earlierUse(connection, memory);
  if (earlier) return earlier;
  const isKnown = memory.supersedes === null || exists(connection, memory.namespace, memory.supersedes);
  return isKnown ? undefined : { outcome: 'superseded-unknown' };
}

function earlierUse(connection: Connection, memory: NewMemory): StoreOutcome | undefined {
  if (!memory.idempotency) return undefined;
  const use = sql(
    connection,
    'SELECT digest, memory_id FROM idempotency_key WHERE namespace = ? AND key = ? AND used_at > ?',
  ).get(memory.namespace, memory.idempotency.key, memory.storedAt - LIMITS.idempotencyKeyMs) as
    | { digest: string; memory_id: string }
    | undefined;
  if (!use) return undefined;
  return use.digest === memory.idempotency.digest
    ? { outcome: 'repeated', id: use.memory_id }
    : { outcome: 'conflict' };
}

function recordUse(connection: Connection, memory: NewMemory, use: { key: string; digest: string }): void {
  sql(
    connection,
    `INSERT INTO idempotency_key (namespace, key, digest, memory_id, used_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET digest = excluded.digest, memory_id = excluded.memory_id, used_at = excluded.used_at`,
  ).run(memory.namespace, use.key, use.digest, memory.id, memory.storedAt);
}

function exists(connection: Connection, namespace: string, id: string): boolean {
  return sql(connection, 'SELECT 1 FROM memory WHERE namespace = ? AND id = ?').get(namespace, id) !== undefined;
}

/** See `Storage.dropIdempotencyKeys`. */
export function dropIdempotencyKeys(connection: Connection, usedBefore: number, limit: number): StepResult {
  const { changes } = sql(
    connection,
    `DELETE FROM idempotency_key WHERE (namespace, key) IN (
       SELECT namespace, key FROM idempotency_key WHERE used_at < ? LIMIT ?)`,
  ).run(usedBefore, limit);
  return { count: changes, more: changes === limit };
}

// A merged memory is found through the one that it was merged into, so that one is corrected too.
async function supersede(transaction: FileTransaction, namespace: string, id: string, by: string): Promise<void> {
  const corrected = await transaction.rows<{ ordinal: number }>(
    statement`UPDATE memory SET superseded_by = ${by} WHERE ${selfOrSurvivor(namespace, id)} RETURNING ordinal`,
  );
  // What was distilled from it says what is no longer so.
  const ordinals = corrected.map(({ ordinal }) => ordinal);
  await awaitDistilling(transaction, namespace, ordinals);
}
