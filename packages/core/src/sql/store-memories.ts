import { LIMITS } from '@memoryd/contract/limits';
import type { Owner } from '@memoryd/search';
import type { StepResult } from '../ports/storage-consolidation.ts';
import type { NewMemory, StoreOutcome } from '../ports/storage-memories.ts';
import { inOrder } from './counters.ts';
import { type ExternalIds, findExternalIds } from './external-ids.ts';
import { supersede } from './forget-memories.ts';
import { findImports, type Imports, recordImported, repeatImported } from './imports.ts';
import { insertMemories } from './memory-rows.ts';
import { promoteExcess } from './promote-memories.ts';
import type { Queries, Transaction } from './queries.ts';
import { getNewUsage, type Rooms } from './quotas.ts';
import { repeatStore } from './repeat-store.ts';
import { sql } from './sql.ts';

/**
 * Stores memories in order; those with the external id of a stored memory come last, and change that memory. The
 * transaction must lock their namespaces, exclusively if a memory supersedes another or has an external id, or a quota
 * applies. See `Storage.storeMany`.
 */
export async function storeMany(
  transaction: Transaction,
  memories: readonly NewMemory[],
  { workingMax, rooms }: { workingMax: number; rooms: Rooms },
): Promise<StoreOutcome[]> {
  const batch: Batch = {
    rooms,
    uses: await claimKeys(transaction, memories),
    superseded: await findSupersedable(transaction, memories),
    stored: await findExternalIds(transaction, memories),
    imports: await findImports(transaction, memories),
  };
  const outcomes = await storeNew(transaction, batch, memories);
  for (const [place, memory] of memories.entries()) {
    outcomes[place] ??= await storeAgain(transaction, batch, memory);
  }
  await batch.uses.releaseClaims(transaction);
  const changed = memories.filter((_, place) => outcomes[place]?.outcome === 'stored');
  for (const namespace of new Set(changed.map((memory) => memory.namespace))) {
    await promoteExcess(transaction, namespace, workingMax);
  }
  return outcomes as StoreOutcome[];
}

/** The data by which the memories of one batch of stores are accepted. */
interface Batch {
  rooms: Rooms;
  uses: KeyUses;
  superseded: Awaited<ReturnType<typeof findSupersedable>>;
  stored: ExternalIds;
  imports: Imports;
}

/** Stores the memories whose external id no memory has. Returns no outcome for the others. */
async function storeNew(
  transaction: Transaction,
  { rooms, uses, superseded, stored, imports }: Batch,
  memories: readonly NewMemory[],
): Promise<(StoreOutcome | undefined)[]> {
  const outcomes = new Array<StoreOutcome | undefined>(memories.length).fill(undefined);
  const accepted: [place: number, memory: NewMemory][] = [];
  for (const [place, memory] of memories.entries()) {
    if (stored.find(memory) !== undefined) continue;
    const refusal =
      uses.earlierUse(memory) ??
      imports.refusal(memory) ??
      superseded.refusal(memory) ??
      rooms.take(memory, getNewUsage(memory));
    outcomes[place] = refusal;
    if (refusal) continue;
    uses.record(memory, { id: memory.id, created: true });
    superseded.add(memory);
    stored.add(memory);
    accepted.push([place, memory]);
  }
  const added = accepted.map(([, memory]) => memory);
  const isImport = added.every(({ imported }) => imported !== undefined);
  const ordinals = await insertMemories(transaction, added, 'working', isImport ? 'not waited for' : 'waited for');
  await recordImported(transaction, toImported(imports, added, ordinals));
  for (const [i, { namespace, supersedes, storedAt }] of added.entries()) {
    if (supersedes !== null) await supersede(transaction, namespace, supersedes, ordinals[i] as number, storedAt);
  }
  for (const [i, [place]] of accepted.entries()) {
    outcomes[place] = { outcome: 'stored', ordinal: ordinals[i] as number };
  }
  return outcomes;
}

function toImported(imports: Imports, memories: readonly NewMemory[], ordinals: readonly number[]) {
  return memories.flatMap((memory, i) => {
    const run = imports.find(memory);
    if (run === undefined || !memory.imported) return [];
    const { namespace, imported } = memory;
    return [{ namespace, ordinal: ordinals[i] as number, run, digest: imported.digest, version: 1 }];
  });
}

/** Changes the memory that has the external id of a memory of the batch. */
async function storeAgain(
  transaction: Transaction,
  { rooms, uses, superseded, stored, imports }: Batch,
  memory: NewMemory,
): Promise<StoreOutcome> {
  const id = stored.find(memory) as string;
  const refusal = uses.earlierUse(memory) ?? imports.refusal(memory) ?? superseded.refusal(memory);
  if (refusal) return refusal;
  const { imported } = memory;
  const run = imports.find(memory);
  if (imported && run !== undefined) return repeatImported(transaction, id, { ...memory, imported }, run, rooms);
  const outcome = await repeatStore(transaction, id, memory, rooms);
  if (outcome.outcome === 'updated' || outcome.outcome === 'unchanged') uses.record(memory, { id, created: false });
  return outcome;
}

/** A use of an idempotency key: the digest of the request, the memory that it stored or changed, and its time. */
interface KeyUse {
  digest: string;
  id: string;
  created: boolean;
  at: number;
}

/** Tracks the use of idempotency keys in one batch of stores. */
class KeyUses {
  readonly #uses: Map<string, KeyUse>;
  /** Keys claimed by this transaction, each with the new memory that claimed it. */
  readonly #claims: Map<string, NewMemory>;

  constructor(uses: Map<string, KeyUse>, claims: Map<string, NewMemory>) {
    this.#uses = uses;
    this.#claims = claims;
  }

  earlierUse(memory: NewMemory): StoreOutcome | undefined {
    const use = memory.idempotency && this.#uses.get(toKey(memory));
    if (!use) return undefined;
    const { digest, id, created, at } = use;
    return digest === memory.idempotency?.digest ? { outcome: 'repeated', id, created, at } : { outcome: 'conflict' };
  }

  record(memory: NewMemory, result: Pick<KeyUse, 'id' | 'created'>): void {
    const { idempotency, storedAt: at } = memory;
    if (idempotency) this.#uses.set(toKey(memory), { digest: idempotency.digest, at, ...result });
  }

  /**
   * Sets the memory of each claim whose request was rejected or changed another memory, or releases the claim.
   */
  async releaseClaims(transaction: Transaction): Promise<void> {
    for (const [key, memory] of this.#claims) {
      const use = this.#uses.get(key);
      if (use?.id === memory.id) continue;
      const row = sql`namespace = ${memory.namespace} AND user_id = ${memory.userId} AND agent_id = ${memory.agentId}
        AND key = ${memory.idempotency?.key}`;
      if (use) {
        await transaction.run(
          sql`UPDATE idempotency_key SET digest = ${use.digest}, memory_id = ${use.id}, created = ${Number(use.created)}
              WHERE ${row}`,
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
    INSERT INTO idempotency_key (namespace, user_id, agent_id, key, digest, memory_id, created, used_at)
    SELECT namespace, "userId", "agentId", key, digest, id, 1, at FROM ${records} WHERE true
    ORDER BY namespace, "userId", "agentId", key
    ON CONFLICT (namespace, user_id, agent_id, key) DO UPDATE SET
      digest = excluded.digest, memory_id = excluded.memory_id, created = 1, used_at = excluded.used_at
    WHERE idempotency_key.used_at <= excluded.used_at - ${LIMITS.idempotencyKeyMs}
    RETURNING namespace, user_id AS "userId", agent_id AS "agentId", key`);
  const ours = new Set(claimed.map(toRowKey));
  const used =
    claims.length === ours.size
      ? []
      : await transaction.rows<KeyRow & { digest: string; id: string; created: number; at: number }>(sql`
          SELECT claim.namespace, claim."userId", claim."agentId", k.key, k.digest, k.memory_id AS id, k.created, k.used_at AS at
          FROM ${records} CROSS JOIN idempotency_key k
          WHERE k.namespace = claim.namespace AND k.user_id = claim."userId" AND k.agent_id = claim."agentId"
            AND k.key = claim.key`);
  const uses = used
    .map((use) => [toRowKey(use), { ...use, created: use.created === 1 }] as const)
    .filter(([key]) => !ours.has(key));
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

/** See `Storage.dropIdempotencyKeys`. */
export async function dropIdempotencyKeys(queries: Queries, usedBefore: number, limit: number): Promise<StepResult> {
  const count = await queries.run(sql`
    WITH old AS MATERIALIZED (
      SELECT namespace, user_id, agent_id, key FROM idempotency_key WHERE used_at < ${usedBefore} LIMIT ${limit}
      ${queries.dialect.skipLocked})
    DELETE FROM idempotency_key WHERE (namespace, user_id, agent_id, key) IN (
      SELECT namespace, user_id, agent_id, key FROM old)`);
  return { count, more: count === limit };
}
