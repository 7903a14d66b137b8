import { LIMITS } from '@memoryd/contract/limits';
import type { Owner } from '@memoryd/search';
import type { StepResult } from '../ports/storage-consolidation.ts';
import type { NewMemory, StoreOutcome } from '../ports/storage-memories.ts';
import { queueForDistilling } from './consolidation-queue.ts';
import { inOrder } from './counters.ts';
import { selfOrSurvivor } from './find-memory.ts';
import { insertMemories } from './memory-rows.ts';
import { promoteExcess } from './promote-memories.ts';
import type { Queries, Transaction } from './queries.ts';
import { getNewUsage, type Rooms } from './quotas.ts';
import { sql } from './sql.ts';

/**
 * Stores memories in order. The transaction must lock their namespaces, exclusively if a memory supersedes another or a
 * quota applies. See `Storage.storeMany`.
 */
export async function storeMany(
  transaction: Transaction,
  memories: readonly NewMemory[],
  { workingMax, rooms }: { workingMax: number; rooms: Rooms },
): Promise<StoreOutcome[]> {
  const uses = await claimKeys(transaction, memories);
  const superseded = await findSupersedable(transaction, memories);
  const outcomes: (StoreOutcome | undefined)[] = [];
  const accepted: NewMemory[] = [];
  for (const memory of memories) {
    const outcome = uses.earlierUse(memory) ?? superseded.refusal(memory) ?? rooms.take(memory, getNewUsage(memory));
    outcomes.push(outcome);
    if (outcome) continue;
    uses.record(memory);
    superseded.add(memory);
    accepted.push(memory);
  }
  await uses.releaseClaims(transaction);
  const ordinals = await insertMemories(transaction, accepted, 'working');
  for (const memory of accepted)
    if (memory.supersedes !== null) await supersede(transaction, memory, memory.supersedes);
  for (const namespace of new Set(accepted.map((memory) => memory.namespace))) {
    await promoteExcess(transaction, namespace, workingMax);
  }
  let next = 0;
  return outcomes.map((outcome) => outcome ?? { outcome: 'stored', ordinal: ordinals[next++] as number });
}

/** Tracks the use of idempotency keys in one batch of stores. */
class KeyUses {
  readonly #uses: Map<string, { digest: string; id: string }>;
  /** Keys claimed by this transaction, each with the new memory that claimed it. */
  readonly #claims: Map<string, NewMemory>;

  constructor(uses: Map<string, { digest: string; id: string }>, claims: Map<string, NewMemory>) {
    this.#uses = uses;
    this.#claims = claims;
  }

  earlierUse(memory: NewMemory): StoreOutcome | undefined {
    const use = memory.idempotency && this.#uses.get(toKey(memory));
    if (!use) return undefined;
    return use.digest === memory.idempotency?.digest ? { outcome: 'repeated', id: use.id } : { outcome: 'conflict' };
  }

  record(memory: NewMemory): void {
    if (memory.idempotency) this.#uses.set(toKey(memory), { digest: memory.idempotency.digest, id: memory.id });
  }

  /** Reassigns the claim of each rejected memory to the next memory with the same key, or releases the claim. */
  async releaseClaims(transaction: Transaction): Promise<void> {
    for (const [key, memory] of this.#claims) {
      const use = this.#uses.get(key);
      if (use?.id === memory.id) continue;
      const row = sql`namespace = ${memory.namespace} AND user_id = ${memory.userId} AND agent_id = ${memory.agentId}
        AND key = ${memory.idempotency?.key}`;
      if (use) {
        await transaction.run(
          sql`UPDATE idempotency_key SET digest = ${use.digest}, memory_id = ${use.id} WHERE ${row}`,
        );
      } else await transaction.run(sql`DELETE FROM idempotency_key WHERE ${row}`);
    }
  }
}

/** A stored idempotency key. The key is unique per user and agent, so that other users cannot detect its use. */
interface KeyRow extends Owner {
  namespace: string;
  key: string | undefined;
}

function toKey({ idempotency, ...memory }: NewMemory): string {
  return toRowKey({ ...memory, key: idempotency?.key });
}

function toRowKey({ namespace, userId, agentId, key }: KeyRow): string {
  return [namespace, userId, agentId, key].join('\0');
}

/**
 * Claims the idempotency keys that are unused or expired, and reads the earlier uses of the other keys. Another process
 * that claims one of these keys waits until this transaction ends.
 */
async function claimKeys(transaction: Transaction, memories: readonly NewMemory[]): Promise<KeyUses> {
  const first = new Map<string, NewMemory>();
  for (const memory of memories) {
    if (memory.idempotency && !first.has(toKey(memory))) first.set(toKey(memory), memory);
  }
  if (first.size === 0) return new KeyUses(new Map(), new Map());
  const claims = inOrder(first).map(({ namespace, userId, agentId, idempotency, id, storedAt }) => ({
    namespace,
    userId,
    agentId,
    key: idempotency?.key,
    digest: idempotency?.digest,
    id,
    at: storedAt,
  }));
  const records = transaction.dialect.records('claim', CLAIM, claims);
  const claimed = await transaction.rows<KeyRow>(sql`
    INSERT INTO idempotency_key (namespace, user_id, agent_id, key, digest, memory_id, used_at)
    SELECT namespace, "userId", "agentId", key, digest, id, at FROM ${records} WHERE true
    ORDER BY namespace, "userId", "agentId", key
    ON CONFLICT (namespace, user_id, agent_id, key) DO UPDATE SET
      digest = excluded.digest, memory_id = excluded.memory_id, used_at = excluded.used_at
    WHERE idempotency_key.used_at <= excluded.used_at - ${LIMITS.idempotencyKeyMs}
    RETURNING namespace, user_id AS "userId", agent_id AS "agentId", key`);
  const ours = new Set(claimed.map(toRowKey));
  const used =
    claims.length === ours.size
      ? []
      : await transaction.rows<KeyRow & { digest: string; id: string }>(sql`
          SELECT claim.namespace, claim."userId", claim."agentId", k.key, k.digest, k.memory_id AS id
          FROM ${records} CROSS JOIN idempotency_key k
          WHERE k.namespace = claim.namespace AND k.user_id = claim."userId" AND k.agent_id = claim."agentId"
            AND k.key = claim.key`);
  const uses = used.map((use) => [toRowKey(use), use] as const).filter(([key]) => !ours.has(key));
  return new KeyUses(new Map(uses), new Map([...first].filter(([key]) => ours.has(key))));
}

const CLAIM = {
  namespace: 'text',
  userId: 'text',
  agentId: 'text',
  key: 'text',
  digest: 'text',
  id: 'text',
  at: 'bigint',
} as const;

/** Finds the `supersedes` targets that exist, including memories of the same batch. */
async function findSupersedable(transaction: Transaction, memories: readonly NewMemory[]) {
  const named = memories.filter((memory) => memory.supersedes !== null);
  const found =
    named.length === 0
      ? []
      : await transaction.rows<Supersedable>(sql`
          SELECT m.namespace, m.user_id AS "userId", m.agent_id AS "agentId", m.id
          FROM ${transaction.dialect.records('named', NAMED, named)} CROSS JOIN memory m
          WHERE m.namespace = named.namespace AND m.id = named.supersedes`);
  const toPlace = ({ namespace, userId, agentId, id }: Supersedable) => [namespace, userId, agentId, id].join('\0');
  const known = new Set(found.map(toPlace));
  return {
    refusal: ({ supersedes, ...memory }: NewMemory): StoreOutcome | undefined =>
      supersedes === null || known.has(toPlace({ ...memory, id: supersedes }))
        ? undefined
        : { outcome: 'superseded-unknown' },
    add: (memory: NewMemory) => known.add(toPlace(memory)),
  };
}

type Supersedable = Pick<NewMemory, 'namespace' | 'userId' | 'agentId' | 'id'>;

const NAMED = { namespace: 'text', supersedes: 'text' } as const;

// Recall returns the survivor in place of a merged duplicate, so the survivor is superseded too.
async function supersede(transaction: Transaction, { namespace, id: by }: NewMemory, id: string): Promise<void> {
  const superseded = await transaction.rows<{ ordinal: number }>(
    sql`UPDATE memory SET superseded_by = ${by} WHERE ${selfOrSurvivor(namespace, id)} RETURNING ordinal`,
  );
  // A semantic memory that was distilled from the superseded memory is outdated.
  await queueForDistilling(
    transaction,
    namespace,
    superseded.map(({ ordinal }) => ordinal),
  );
}

/** See `Storage.dropIdempotencyKeys`. */
export async function dropIdempotencyKeys(queries: Queries, usedBefore: number, limit: number): Promise<StepResult> {
  const count = await queries.run(sql`
    DELETE FROM idempotency_key WHERE (namespace, user_id, agent_id, key) IN (
      SELECT namespace, user_id, agent_id, key FROM idempotency_key WHERE used_at < ${usedBefore} LIMIT ${limit}
      ${queries.dialect.skipLocked})`);
  return { count, more: count === limit };
}
