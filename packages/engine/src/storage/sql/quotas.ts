import type { NamespaceQuota } from '@memoryd/contract';
import type { KeptMemory } from '../../ports/storage-kept.ts';
import type { NewMemory } from '../../ports/storage-memories.ts';
import type { OverQuota, Quota, Quotas } from '../../ports/storage-namespaces.ts';
import type { Queries } from './queries.ts';
import { type Sql, sql } from './sql.ts';

/** The limits of stores. */
export interface NamespaceLimits {
  workingMax: number;
  quota: Quotas;
}

/** The holder of a quota: a namespace, whose user is '', or one of its users. */
interface Holder {
  namespace: string;
  userId: string;
}

const NOTHING: Quota = { memories: 0, bytes: 0 };

/** Any number. */
export const NO_QUOTAS: Quotas = { namespace: NOTHING, user: NOTHING };

/**
 * Reads what namespaces and users have room for; it stays so while the transaction has to itself the namespaces that may not
 * hold just anything.
 *
 * @param owners those that are about to get more
 */
export async function readRooms(queries: Queries, owners: readonly Holder[], ofAll: Quotas): Promise<Rooms> {
  const holders = new Map(owners.flatMap(getHolders).map((holder) => [toKey(holder), holder]));
  const own = await ownQuotas(queries, holders);
  const quotas = [...holders].map(([key, holder]) => ({ key, holder, quota: toQuota(holder, own.get(key), ofAll) }));
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

/** See `Storage.setQuota` and `setUserQuota`. Nobody stores in the namespace meanwhile, so that a new quota holds at once. */
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

/** A quota and how much of it is used. */
interface Room {
  holder: Holder;
  quota: Quota;
  used: Quota;
}

/** Returns the quota of a holder: its own, or the one for all. */
function toQuota({ userId }: Holder, own: NamespaceQuota | undefined, { namespace, user }: Quotas): Quota {
  const ofAll = userId === '' ? namespace : user;
  return { memories: own?.memories ?? ofAll.memories, bytes: own?.bytes ?? ofAll.bytes };
}

/** Which quota would be exceeded by so much more; undefined where none would. */
function overQuota({ holder, quota, used }: Room, more: Quota): OverQuota | undefined {
  for (const of of ['memories', 'bytes'] as const) {
    const most = quota[of];
    if (most > 0 && more[of] > 0 && used[of] + more[of] > most) {
      return { outcome: 'over-quota', holder: holder.userId === '' ? 'namespace' : 'user', of, most };
    }
  }
  return undefined;
}

/** The room that namespaces and users have. */
export class Rooms {
  readonly #rooms: ReadonlyMap<string, Room>;

  /** @param rooms those of namespaces and users that may not hold just anything */
  constructor(rooms: ReadonlyMap<string, Room>) {
    this.#rooms = rooms;
  }

  /** The namespaces that may not hold just anything, or that have such a user. */
  get limited(): string[] {
    return [...new Set(Array.from(this.#rooms.values(), ({ holder }) => holder.namespace))];
  }

  /** Takes the room that so much more needs, where there is; else answers which quota would be exceeded. */
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

/** Whether a quota lets in less than anything. */
export function isLimit({ memories, bytes }: Quota): boolean {
  return memories > 0 || bytes > 0;
}

/** What a new memory counts for. */
export function takenByNew({ content }: Pick<NewMemory, 'content'>): Quota {
  return { memories: 1, bytes: Buffer.byteLength(content) };
}

/** What a kept memory counts for: what clients gave it. */
export function takenBy({ tier, content, revision, distilledRevision, history }: KeptMemory): Quota {
  const texts = [...history, { revision, content }].filter((text) => text.revision > (distilledRevision ?? 0));
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text.content), 0);
  return { memories: tier === 'semantic' ? 0 : 1, bytes };
}
