import type { Tier } from '@memoryd/contract';
import { haveOneOwner } from '../../core/owner.ts';
import type { ImportOutcome, KeptMemory, WaitingLink } from '../../ports/storage-kept.ts';
import type { Owner } from '../../ports/storage-owner.ts';
import { countTiers } from './counters.ts';
import type { Transaction } from './queries.ts';
import { type Rooms, takenBy } from './quotas.ts';
import { hasOwnText } from './semantic-sources.ts';
import { raw, type Sql, sql } from './sql.ts';

/** Sets links of memories to others, but for those that no longer make sense. */
export async function setLinks(
  transaction: Transaction,
  namespace: string,
  links: readonly FoundLink[],
): Promise<void> {
  const of = (kind: WaitingLink['kind']) => links.filter((link) => link.kind === kind);
  await setIds(transaction, namespace, 'supersedes', of('supersedes'));
  await setIds(transaction, namespace, 'superseded_by', of('supersededBy'));
  await addSources(transaction, namespace, 'memory_source', of('source'));
  await addSources(transaction, namespace, 'former_source', of('formerSource'));
  await mergeAll(transaction, namespace, of('mergedInto'));
}

async function setIds(
  transaction: Transaction,
  namespace: string,
  column: 'supersedes' | 'superseded_by',
  links: readonly FoundLink[],
): Promise<void> {
  if (links.length === 0) return;
  await transaction.run(sql`
    UPDATE memory AS m SET ${raw(column)} = link.id FROM ${toRecords(transaction, links)}
    WHERE ${isLinked(transaction, namespace, links)} AND m.ordinal = link.ordinal AND m.${raw(column)} IS NULL`);
}

/** Lets memories name what they correct, where that has come back and names them. */
export async function correctAgain(
  transaction: Transaction,
  namespace: string,
  links: readonly FoundLink[],
): Promise<void> {
  if (links.length === 0) return;
  await transaction.run(sql`
    UPDATE memory AS m SET supersedes = link.id FROM ${toRecords(transaction, links)} CROSS JOIN memory o
    WHERE o.namespace = ${namespace} AND o.ordinal = link.target AND ${isLinked(transaction, namespace, links)}
      AND m.ordinal = link.ordinal AND m.supersedes IS NULL AND o.superseded_by = m.id`);
}

async function addSources(
  transaction: Transaction,
  namespace: string,
  table: 'memory_source' | 'former_source',
  links: readonly FoundLink[],
): Promise<void> {
  if (links.length === 0) return;
  await transaction.run(sql`
    INSERT INTO ${raw(table)} (namespace, semantic, source)
    SELECT m.namespace, m.ordinal, link.target FROM ${toRecords(transaction, links)} CROSS JOIN memory m
    WHERE m.namespace = ${namespace} AND m.ordinal = link.ordinal AND m.tier = 'semantic'
    ON CONFLICT DO NOTHING`);
}

/** Merges duplicates into others, one after the other, since whether two may be depends on those before. */
async function mergeAll(transaction: Transaction, namespace: string, links: readonly FoundLink[]): Promise<void> {
  const merged: { ordinal: number; tier: Tier; evictedAt: number | null }[] = [];
  for (const link of links) merged.push(...(await mergeInto(transaction, namespace, link)));
  if (merged.length === 0) return;
  const ordinals = merged.map(({ ordinal }) => ordinal);
  await transaction.recall.remove(namespace, ordinals);
  const left = merged.filter(({ evictedAt }) => evictedAt === null);
  await countTiers(
    transaction,
    left.map(({ tier }) => ({ namespace, tier, count: -1 })),
  );
}

// A client may have changed the visible memory since the merge, so the texts need not be equal. A hidden duplicate of a
// hidden memory would never be found.
async function mergeInto(transaction: Transaction, namespace: string, { ordinal, target }: FoundLink) {
  const survivor = await transaction.row<{ id: string }>(sql`
    SELECT s.id FROM memory m CROSS JOIN memory s
    WHERE m.namespace = ${namespace} AND m.ordinal = ${ordinal} AND s.namespace = ${namespace} AND s.ordinal = ${target}
      AND m.session_id = s.session_id AND m.evicted_at IS NOT DISTINCT FROM s.evicted_at
      AND m.merged_into IS NULL AND s.merged_into IS NULL AND m.id <> s.id
      AND NOT EXISTS (SELECT 1 FROM memory t WHERE t.namespace = ${namespace} AND t.merged_into = m.id)`);
  if (!survivor) return [];
  return transaction.rows<{ ordinal: number; tier: Tier; evictedAt: number | null }>(sql`
    UPDATE memory SET merged_into = ${survivor.id} WHERE namespace = ${namespace} AND ordinal = ${ordinal}
    RETURNING ordinal, tier, evicted_at AS "evictedAt"`);
}

/** Returns a condition: `m` is a memory that has one of some links. */
function isLinked({ dialect }: Transaction, namespace: string, links: readonly FoundLink[]): Sql {
  return dialect.isMemory(
    'm.ordinal',
    namespace,
    links.map(({ ordinal }) => ordinal),
  );
}

/** Returns links as a table named `link`. */
function toRecords({ dialect }: Transaction, links: readonly FoundLink[]): Sql {
  return dialect.records('link', { ordinal: 'bigint', id: 'text', target: 'bigint' }, links);
}

/** A memory that is there, as far as imports look at it; of those that only links name, no text. */
export interface Present extends Owner {
  ordinal: number;
  tier: Tier;
  version: number;
  storedAt: number;
  content: string;
  /** Whether a memory was distilled from it. */
  isSource: boolean;
}

/** A link whose memory is there, at `target`. */
type FoundLink = WaitingLink & { target: number };

/** Where memories come to. */
interface Place {
  namespace: string;
  /** What is there of those that come and of what they name, by id. */
  present: Map<string, Present>;
  rooms: Rooms;
  /** Links that came before and wait. */
  links: readonly WaitingLink[];
  /** Lets a memory in without its links; answers its ordinal. */
  letIn(memory: KeptMemory): number;
}

/** Ids of those that are looked for before memories come: their own and those that they name. */
export function lookedFor(memories: readonly KeptMemory[]): { own: string[]; named: string[] } {
  const named = memories.flatMap((memory) => Array.from(getLinks(memory, 0), ({ id }) => id));
  return { own: memories.map(({ id }) => id), named };
}

/**
 * Memories that come one after the other, as they were kept elsewhere, to those that are there: what becomes of each, and
 * what is to be done about its links once all are in.
 */
export class KeptArrivals {
  /** The links that find their memories, in their order. */
  readonly links: FoundLink[] = [];
  /** Links to what memories that were there already corrected, and may correct again. */
  readonly corrections: FoundLink[] = [];
  /** Ordinals of memories that were there already and may be merged again. */
  readonly merging: number[] = [];
  readonly #place: Place;
  readonly #waiting: WaitingLinks;

  constructor(place: Place) {
    this.#place = place;
    this.#waiting = new WaitingLinks(place.links);
  }

  /** Links that came with these and still wait. */
  get waiting(): WaitingLink[] {
    return this.#waiting.added;
  }

  take(memory: KeptMemory): ImportOutcome {
    const { namespace, present, rooms } = this.#place;
    const there = present.get(memory.id);
    if (there) return this.#meetAgain(memory, there);
    if (memory.tier === 'semantic' && !hasOwnText(memory) && !this.#hasRoots(memory)) return 'rootless';
    const over = rooms.take({ namespace, userId: memory.userId }, takenBy(memory));
    if (over) return over;
    const ordinal = this.#place.letIn(memory);
    present.set(memory.id, { ...memory, ordinal, isSource: false });
    for (const link of getLinks(memory, ordinal)) this.#link(link);
    for (const link of this.#waiting.take(memory.id)) this.#link(link);
    return 'imported';
  }

  /** What becomes of a memory whose id is there. */
  #meetAgain(memory: KeptMemory, there: Present): ImportOutcome {
    if (!haveOneOwner(there, memory) || !isSame(there, memory)) return 'different';
    for (const link of getLinks(memory, there.ordinal)) {
      const target = this.#target(link);
      if (!target) this.#waiting.add(link);
      else this.#linkAgain(link, target);
    }
    return 'unchanged';
  }

  // Most links were set when the second of the two came; but that may have been refused then, or forgotten since.
  #linkAgain(link: WaitingLink, target: Present): void {
    if (!makesSense(link, target)) return;
    if (link.kind === 'supersedes') this.corrections.push({ ...link, target: target.ordinal });
    else if (link.kind === 'mergedInto') this.merging.push(link.ordinal);
    else if (link.kind !== 'supersededBy') this.#link(link);
  }

  // A source that is another's by now would be quoted without a link, and its words stay when it is forgotten.
  #hasRoots(memory: KeptMemory): boolean {
    const sources = memory.derivedFrom.flatMap((id) => this.#place.present.get(id) ?? []);
    return sources.length > 0 && sources.every((source) => haveOneOwner(source, memory) && canBeSource(source));
  }

  /** A memory of another user or agent is as one that does not exist. */
  #target(link: WaitingLink): Present | undefined {
    const target = this.#place.present.get(link.id);
    return target && haveOneOwner(link, target) ? target : undefined;
  }

  #link(link: WaitingLink): void {
    const target = this.#target(link);
    if (!target) this.#waiting.add(link);
    else if (makesSense(link, target)) {
      if (link.kind === 'source') target.isSource = true;
      this.links.push({ ...link, target: target.ordinal });
    }
  }
}

function makesSense({ kind }: WaitingLink, target: Present): boolean {
  if (kind === 'source') return canBeSource(target);
  return kind !== 'formerSource' || target.tier !== 'semantic';
}

function canBeSource({ tier, isSource }: Present): boolean {
  return tier !== 'semantic' && !isSource;
}

/** The links of a memory to others, as they wait for them. */
function* getLinks(memory: KeptMemory, ordinal: number): Iterable<WaitingLink> {
  const from = { ordinal, userId: memory.userId, agentId: memory.agentId };
  for (const kind of ['supersedes', 'supersededBy', 'mergedInto'] as const) {
    const id = memory[kind];
    if (id !== null) yield { ...from, kind, id };
  }
  for (const id of memory.derivedFrom) yield { ...from, kind: 'source', id };
  for (const id of memory.formerlyDerivedFrom) yield { ...from, kind: 'formerSource', id };
}

/** Links that wait for a memory, by its id. */
class WaitingLinks {
  readonly #byId = new Map<string, WaitingLink[]>();
  readonly #added = new Set<WaitingLink>();

  constructor(links: readonly WaitingLink[]) {
    for (const link of links) this.#put(link);
  }

  /** Those that were not there at first and wait still. */
  get added(): WaitingLink[] {
    return [...this.#added];
  }

  add(link: WaitingLink): void {
    this.#put(link);
    this.#added.add(link);
  }

  take(id: string): WaitingLink[] {
    const links = this.#byId.get(id) ?? [];
    this.#byId.delete(id);
    for (const link of links) this.#added.delete(link);
    return links;
  }

  #put(link: WaitingLink): void {
    const links = this.#byId.get(link.id);
    if (links) links.push(link);
    else this.#byId.set(link.id, [link]);
  }
}

/** What tells whether a memory is still the one that it was: what consolidation and use change of it is not looked at. */
type Identity = Pick<KeptMemory, 'content' | 'version' | 'storedAt'>;

/** Whether a memory that is there is the one that comes. */
function isSame(there: Identity, coming: Identity): boolean {
  return there.content === coming.content && there.version === coming.version && there.storedAt === coming.storedAt;
}
