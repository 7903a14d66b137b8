import type { NamespaceQuota } from '@memoryd/contract';
import type { MemoryRecord } from '../ports/storage-export.ts';
import type { NewMemory } from '../ports/storage-memories.ts';
import type { OverQuota, Quota, Quotas } from '../ports/storage-namespaces.ts';
import type { Queries } from './queries.ts';
import { type Sql, sql } from './sql.ts';

export interface NamespaceLimits {
  workingMax: number;
  quota: Quotas;
}

/** The holder of a quota: a namespace (with an empty `userId`) or one of its users. */
interface Holder {
  namespace: string;
  userId: string;
}

const NOTHING: Quota = { memories: 0, bytes: 0 };

/** Quotas without limits. */
export const NO_QUOTAS: Quotas = { namespace: NOTHING, user: NOTHING };

/**
 * Reads the remaining quotas of namespaces and users. The result is valid only while the transaction has exclusive
 * locks on the namespaces with limits.
 *
 * @param owners owners of the memories to be stored
 */
export async function readRooms(queries: Queries, owners: readonly Holder[], defaults: Quotas): Promise<Rooms> {
  const holders = new Map(owners.flatMap(getHolders).map((holder) => [toKey(holder), holder]));
  const own = await ownQuotas(queries, holders);
  const quotas = [...holders].map(([key, holder]) => ({ key, holder, quota: toQuota(holder, own.get(key), defaults) }));
  const limited = quotas.filter(({ quota }) => isLimit(quota));
  if (limited.length === 0) return new Rooms(new Map());
  const used = await getUsage(queries, holders);
  return new Rooms(
    new Map(limited.map(({ key, holder, quota }) => [key, { holder, quota, used: used.get(key) ?? NOTHING }])),
  );
}

function getHolders({ namespace, userId }: Holder): Holder[] {
  const user = userId === '' ? [] : [{ namespace, userId }];
  return [{ namespace, userId: '' }, ...user];
}

function toKey({ namespace, userId }: Holder): string {
  return `${namespace}\0${userId}`;
}

function ownQuotas(queries: Queries, holders: ReadonlyMap<string, Holder>): Promise<Map<string, NamespaceQuota>> {
  return byHolder(
    queries,
    holders,
    sql`q.memories, q.bytes FROM`,
    sql`CROSS JOIN quota q
    WHERE q.namespace = holder.namespace AND q.user_id = holder."userId"`,
  );
}

function getUsage(queries: Queries, holders: ReadonlyMap<string, Holder>): Promise<Map<string, Quota>> {
  return byHolder(
    queries,
    holders,
    sql`CAST(sum(u.memories) AS bigint) AS memories, CAST(sum(u.bytes) AS bigint) AS bytes
    FROM`,
    sql`CROSS JOIN usage u WHERE u.namespace = holder.namespace AND u.user_id = holder."userId"
    GROUP BY holder.namespace, holder."userId"`,
  );
}

async function byHolder<Value>(
  queries: Queries,
  holders: ReadonlyMap<string, Holder>,
  select: Sql,
  from: Sql,
): Promise<Map<string, Value>> {
  const records = queries.dialect.records('holder', { namespace: 'text', userId: 'text' }, [...holders.values()]);
  const rows = await queries.rows<Value & Holder>(
    sql`SELECT holder.namespace, holder."userId", ${select} ${records} ${from}`,
  );
  return new Map(rows.map((row) => [toKey(row), row]));
}

/** See `Storage.userQuotas`. */
export function userQuotas(queries: Queries, namespace: string): Promise<(NamespaceQuota & { userId: string })[]> {
  return queries.rows(sql`
    SELECT user_id AS "userId", memories, bytes FROM quota WHERE namespace = ${namespace} AND user_id <> ''
    ORDER BY user_id`);
}

/**
 * See `Storage.setQuota` and `setUserQuota`. The caller must block stores in the namespace, so that the next store
 * observes the new quota.
 */
export async function setQuota(
  queries: Queries,
  namespace: string,
  userId: string,
  { memories, bytes }: NamespaceQuota,
): Promise<void> {
  if (memories === null && bytes === null) {
    await queries.run(sql`DELETE FROM quota WHERE namespace = ${namespace} AND user_id = ${userId}`);
    return;
  }
  await queries.run(sql`
    INSERT INTO quota (namespace, user_id, memories, bytes) VALUES (${namespace}, ${userId}, ${memories}, ${bytes})
    ON CONFLICT (namespace, user_id) DO UPDATE SET memories = excluded.memories, bytes = excluded.bytes`);
}

/** The quota of a namespace or user, and the usage so far. */
interface Room {
  holder: Holder;
  quota: Quota;
  used: Quota;
}

/** Returns the quota of a namespace or user. A limit that is not set has its default. */
function toQuota({ userId }: Holder, own: NamespaceQuota | undefined, { namespace, user }: Quotas): Quota {
  const defaults = userId === '' ? namespace : user;
  return { memories: own?.memories ?? defaults.memories, bytes: own?.bytes ?? defaults.bytes };
}

/** Returns the limit that additional usage would exceed, or undefined if the usage stays within the quota. */
function overQuota({ holder, quota, used }: Room, more: Quota): OverQuota | undefined {
  for (const of of ['memories', 'bytes'] as const) {
    const limit = quota[of];
    if (limit > 0 && more[of] > 0 && used[of] + more[of] > limit) {
      return { outcome: 'over-quota', holder: holder.userId === '' ? 'namespace' : 'user', of, limit };
    }
  }
  return undefined;
}

/** The remaining quotas of namespaces and users. */
export class Rooms {
  readonly #rooms: ReadonlyMap<string, Room>;

  /** @param rooms quotas and usage of the namespaces and users that have a limit */
  constructor(rooms: ReadonlyMap<string, Room>) {
    this.#rooms = rooms;
  }

  /** The namespaces in which the namespace or one of its users has a limit. */
  get limited(): string[] {
    return [...new Set(Array.from(this.#rooms.values(), ({ holder }) => holder.namespace))];
  }

  /** Reserves additional usage. Returns the limit that the usage would exceed, or undefined on success. */
  take(owner: Holder, more: Quota): OverQuota | undefined {
    const rooms = getHolders(owner).flatMap((holder) => this.#rooms.get(toKey(holder)) ?? []);
    for (const room of rooms) {
      const over = overQuota(room, more);
      if (over) return over;
    }
    for (const room of rooms) {
      room.used = { memories: room.used.memories + more.memories, bytes: room.used.bytes + more.bytes };
    }
    return undefined;
  }
}

/** Returns true if the quotas have any limit. */
export function isQuotaLimited({ namespace, user }: Quotas): boolean {
  return isLimit(namespace) || isLimit(user);
}

/** Returns true if the quota has a limit for memories or bytes. */
function isLimit({ memories, bytes }: Quota): boolean {
  return memories > 0 || bytes > 0;
}

/** Returns the usage of a new memory. */
export function getNewUsage({ content, attachment = '' }: Pick<NewMemory, 'content' | 'attachment'>): Quota {
  return { memories: 1, bytes: Buffer.byteLength(content) + Buffer.byteLength(attachment) };
}

/** Returns the usage of an imported memory. Texts written by consolidation do not count. */
export function getRecordUsage(memory: MemoryRecord): Quota {
  const { tier, content, attachment = '', revision, distilledRevision, history } = memory;
  const texts = [...history, { revision, content }].filter((text) => text.revision > (distilledRevision ?? 0));
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text.content), Buffer.byteLength(attachment));
  return { memories: tier === 'semantic' ? 0 : 1, bytes };
}
