import type { Tier } from '@memoryd/contract';
import { LIMITS } from '@memoryd/contract/limits';
import type { NewMemory, StoreOutcome } from '../../../ports/storage-memories.ts';
import type { Quota } from '../../../ports/storage-namespaces.ts';
import type { StepResult } from '../../../ports/storage-runs.ts';
import { entriesIn, numbered } from '../../../recall-index/entry.ts';
import { takenByNew } from '../../quota.ts';
import { readRooms } from '../../sql/namespace-quotas.ts';
import { textDigest } from '../../text-digest.ts';
import { addAttributes } from '../attributes.ts';
import { type Connection, sql } from '../connection.ts';
import { entryOf } from '../entry-of.ts';
import type { FileQueries } from '../queries.ts';
import { awaitDistilling, enterNew, type NewEntry } from '../recall-entry.ts';
import { settleExcess } from '../sleep/settle.ts';
import { countArrivals } from './arrivals.ts';
import { SELF_OR_SURVIVOR } from './find.ts';

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
  queries: FileQueries,
  memories: readonly NewMemory[],
  { workingMax, quota }: NamespaceLimits,
  entries: Uint8Array = NO_ENTRIES,
): Promise<StoreOutcome[]> {
  const { connection } = queries;
  const namespaces = new Set(memories.map((memory) => memory.namespace));
  const rooms = await readRooms(queries, [...namespaces], quota);
  const made = entriesIn(entries);
  const kept: Kept[] = [];
  const outcomes = memories.map((memory, place) => {
    const refused = refusal(connection, memory) ?? rooms.take(memory.namespace, takenByNew(memory));
    if (refused) return refused;
    const ordinal = keep(connection, memory);
    const entry = made[place];
    kept.push({ memory, ordinal, entry: entry ? numbered(entry, ordinal) : entryOf(memory, ordinal) });
    return { outcome: 'stored', ordinal } as const;
  });
  enterNew(connection, kept);
  for (const namespace of namespaces) {
    countKept(connection, namespace, kept);
    settleExcess(connection, namespace, workingMax);
  }
  return outcomes;
}

/** A memory of a call that has its row. */
interface Kept extends NewEntry {
  memory: NewMemory;
}

function refusal(connection: Connection, memory: NewMemory): StoreOutcome | undefined {
  const earlier = earlierUse(connection, memory);
  if (earlier) return earlier;
  const isKnown = memory.supersedes === null || exists(connection, memory.namespace, memory.supersedes);
  return isKnown ? undefined : { outcome: 'superseded-unknown' };
}

/** Writes a new memory; recall does not find it yet. Answers its ordinal. */
function keep(connection: Connection, memory: NewMemory): number {
  const ordinal = insert(connection, memory, 'working');
  addAttributes(connection, memory.namespace, ordinal, memory.tags, memory.metadata);
  if (memory.supersedes !== null) supersede(connection, memory.namespace, memory.supersedes, memory.id);
  if (memory.idempotency) recordUse(connection, memory, memory.idempotency);
  return ordinal;
}

function countKept(connection: Connection, namespace: string, kept: readonly Kept[]): void {
  const arrivals = kept
    .filter(({ memory }) => memory.namespace === namespace)
    .map(({ memory }) => ({ tier: 'working' as const, evictedAt: null, bytes: takenByNew(memory).bytes }));
  if (arrivals.length > 0) countArrivals(connection, namespace, arrivals);
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

/** A memory as its row is written; semantic ones have no session. */
type NewRow = Omit<NewMemory, 'sessionId' | 'idempotency'> & { sessionId: string | null };

/** Writes the row of a new memory, which is to be counted. Answers its ordinal. */
export function insert(connection: Connection, memory: NewRow, tier: Tier): number {
  const { lastInsertRowid } = sql(
    connection,
    `INSERT INTO memory (namespace, id, session_id, source, tier, importance, created_at, stored_at, updated_at,
       expires_at, supersedes, version, revision, distilled_revision, text_digest, tags, metadata, content)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 1, ?, ?, ?, ?, ?)`,
  ).run(
    memory.namespace,
    memory.id,
    memory.sessionId,
    memory.source,
    tier,
    memory.importance,
    memory.createdAt,
    memory.storedAt,
    memory.storedAt,
    memory.expiresAt,
    memory.supersedes,
    tier === 'semantic' ? 1 : null,
    textDigest(memory.content),
    JSON.stringify(memory.tags),
    JSON.stringify(memory.metadata),
    memory.content,
  );
  return Number(lastInsertRowid);
}

// A merged twin is found through the memory that it was merged into, so that one is corrected too.
function supersede(connection: Connection, namespace: string, id: string, by: string): void {
  const corrected = sql(
    connection,
    `UPDATE memory SET superseded_by = @by WHERE namespace = @namespace AND ${SELF_OR_SURVIVOR} RETURNING ordinal`,
  ).all({ namespace, id, by }) as { ordinal: number }[];
  // What was distilled from it says what is no longer so.
  for (const { ordinal } of corrected) awaitDistilling(connection, ordinal);
}
