import type { NamespaceQuota } from '@memoryd/contract';
import type { KeptMemory } from '../../ports/storage-kept.ts';
import type { NewMemory } from '../../ports/storage-memories.ts';
import type { OverQuota, Quota } from '../../ports/storage-namespaces.ts';
import type { Queries } from './queries.ts';
import { raw, sql } from './sql.ts';

/** How much each namespace may hold, unless it has a quota of its own. */
export interface NamespaceLimits {
  workingMax: number;
  quota: Quota;
}

const NOTHING: Quota = { memories: 0, bytes: 0 };

/**
 * Reads what namespaces have room for; it stays so while the transaction has to itself those that may not hold just
 * anything.
 */
export async function readRooms(queries: Queries, namespaces: readonly string[], ofAll: Quota): Promise<Rooms> {
  const own = await ownQuotas(queries, namespaces);
  const quotas = new Map(namespaces.map((namespace) => [namespace, quotaOf(own.get(namespace), ofAll)]));
  const limited = [...quotas].filter(([, quota]) => isLimit(quota));
  if (limited.length === 0) return new Rooms(new Map());
  const used = await usageOf(queries, namespaces);
  return new Rooms(
    new Map(limited.map(([namespace, quota]) => [namespace, { quota, used: used.get(namespace) ?? NOTHING }])),
  );
}

async function ownQuotas(queries: Queries, namespaces: readonly string[]): Promise<Map<string, NamespaceQuota>> {
  const rows = await queries.rows<NamespaceQuota & { namespace: string }>(
    sql`SELECT namespace, memories, bytes FROM namespace_quota WHERE ${queries.dialect.isIn(raw('namespace'), namespaces)}`,
  );
  return new Map(rows.map((row) => [row.namespace, row]));
}

async function usageOf(queries: Queries, namespaces: readonly string[]): Promise<Map<string, Quota>> {
  const rows = await queries.rows<Quota & { namespace: string }>(sql`
    SELECT namespace, CAST(sum(memories) AS bigint) AS memories, CAST(sum(bytes) AS bigint) AS bytes FROM namespace_usage
    WHERE ${queries.dialect.isIn(raw('namespace'), namespaces)} GROUP BY namespace`);
  return new Map(rows.map((row) => [row.namespace, row]));
}

/** See `Storage.setQuota`. Nobody stores in the namespace meanwhile, so that a new quota holds at once. */
export async function setQuota(
  queries: Queries,
  namespace: string,
  { memories, bytes }: NamespaceQuota,
): Promise<void> {
  if (memories === null && bytes === null) {
    await queries.run(sql`DELETE FROM namespace_quota WHERE namespace = ${namespace}`);
    return;
  }
  await queries.run(sql`
    INSERT INTO namespace_quota (namespace, memories, bytes) VALUES (${namespace}, ${memories}, ${bytes})
    ON CONFLICT (namespace) DO UPDATE SET memories = excluded.memories, bytes = excluded.bytes`);
}

/** What a namespace may hold and what it holds. */
interface Room {
  quota: Quota;
  used: Quota;
}

/** What a namespace may hold: what its own quota says, or what all may. */
function quotaOf(own: NamespaceQuota | undefined, ofAll: Quota): Quota {
  return { memories: own?.memories ?? ofAll.memories, bytes: own?.bytes ?? ofAll.bytes };
}

/** Which quota of a namespace would be exceeded by so much more; undefined where none would. */
function overQuota({ quota, used }: Room, more: Quota): OverQuota | undefined {
  for (const of of ['memories', 'bytes'] as const) {
    const most = quota[of];
    if (most > 0 && more[of] > 0 && used[of] + more[of] > most) return { outcome: 'over-quota', of, most };
  }
  return undefined;
}

/** What namespaces have room for. */
export class Rooms {
  readonly #rooms: ReadonlyMap<string, Room>;

  /** @param rooms those of namespaces that may not hold just anything */
  constructor(rooms: ReadonlyMap<string, Room>) {
    this.#rooms = rooms;
  }

  /** The namespaces that may not hold just anything. */
  get limited(): string[] {
    return [...this.#rooms.keys()];
  }

  /** Takes the room that so much more needs, where there is; else answers which quota would be exceeded. */
  take(namespace: string, more: Quota): OverQuota | undefined {
    const room = this.#rooms.get(namespace);
    const over = room && overQuota(room, more);
    if (!room || over) return over;
    room.used = { memories: room.used.memories + more.memories, bytes: room.used.bytes + more.bytes };
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
