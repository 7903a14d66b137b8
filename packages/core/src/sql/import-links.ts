import type { Tier } from '@memoryd/contract';
import type { Owner } from '@memoryd/search';
import { haveSameOwner } from '@memoryd/search';
import type { ImportedRecord, ImportOutcome, MemoryRecord, PendingLink } from '../ports/storage-export.ts';
import type { ExternalIds } from './external-ids.ts';
import { rememberFields } from './field-history.ts';
import { countLeaving, TIER_MEMBER, type TierMember } from './list-counters.ts';
import type { Transaction } from './queries.ts';
import { getRecordUsage, type Rooms } from './quotas.ts';
import { hasOwnText } from './semantic-sources.ts';
import { raw, type Sql, sql } from './sql.ts';
import { addSuccession } from './succession.ts';
import { IS_LINKED } from './validity.ts';

/**
 * Sets links between memories. Skips links that have become invalid, such as a merge into a memory that is itself
 * merged.
 */
export async function setLinks(
  transaction: Transaction,
  namespace: string,
  links: readonly ResolvedLink[],
): Promise<void> {
  const of = (kind: PendingLink['kind']) => links.filter((link) => link.kind === kind);
  await setSupersedes(transaction, namespace, of('supersedes'));
  for (const { ordinal, target } of of('supersededBy')) {
    await addSuccession(transaction, namespace, [ordinal], target, 0);
  }
  await addSources(transaction, namespace, 'memory_source', of('source'));
  await addSources(transaction, namespace, 'former_source', of('formerSource'));
  await mergeAll(transaction, namespace, of('mergedInto'));
}

async function setSupersedes(
  transaction: Transaction,
  namespace: string,
  links: readonly ResolvedLink[],
): Promise<void> {
  if (links.length === 0) return;
  await transaction.run(sql`
    UPDATE memory AS m SET supersedes = link.id FROM ${toRecords(transaction, links)}
    WHERE ${isLinked(transaction, namespace, links)} AND m.ordinal = link.ordinal AND m.supersedes IS NULL`);
  // An export names the successors of each memory with the same text.
  for (const { ordinal, target } of links) await addSuccession(transaction, namespace, [target], ordinal, 0);
}

/** Sets `supersedes` of existing memories again if an imported memory names them in its `superseded_by`. */
export async function restoreSupersedes(
  transaction: Transaction,
  namespace: string,
  links: readonly ResolvedLink[],
): Promise<void> {
  if (links.length === 0) return;
  await transaction.run(sql`
    UPDATE memory AS m SET supersedes = link.id FROM ${toRecords(transaction, links)} CROSS JOIN memory o
    WHERE o.namespace = ${namespace} AND o.ordinal = link.target AND ${isLinked(transaction, namespace, links)}
      AND m.ordinal = link.ordinal AND m.supersedes IS NULL AND EXISTS (
        SELECT 1 FROM succession l
        WHERE l.namespace = o.namespace AND l.ordinal = o.ordinal AND l.successor = m.ordinal AND ${raw(IS_LINKED)})`);
}

async function addSources(
  transaction: Transaction,
  namespace: string,
  table: 'memory_source' | 'former_source',
  links: readonly ResolvedLink[],
): Promise<void> {
  if (links.length === 0) return;
  await transaction.run(sql`
    INSERT INTO ${raw(table)} (namespace, semantic, source)
    SELECT m.namespace, m.ordinal, link.target FROM ${toRecords(transaction, links)} CROSS JOIN memory m
    WHERE m.namespace = ${namespace} AND m.ordinal = link.ordinal AND m.tier = 'semantic'
    ON CONFLICT DO NOTHING`);
}

/** Merges duplicates one by one, because each merge affects which later merges are valid. */
async function mergeAll(transaction: Transaction, namespace: string, links: readonly ResolvedLink[]): Promise<void> {
  const merged: Merged[] = [];
  for (const link of links) merged.push(...(await mergeInto(transaction, namespace, link)));
  if (merged.length === 0) return;
  const ordinals = merged.map(({ ordinal }) => ordinal);
  await transaction.recall.remove(namespace, ordinals);
  await countLeaving(
    transaction,
    merged.filter(({ evictedAt }) => evictedAt === null),
  );
}

/** A memory that an import has merged. */
type Merged = TierMember & { ordinal: number; evictedAt: number | null };

// A client may have changed the survivor since the merge, so the texts and sessions need not be equal. A merge into a memory that is
// itself merged is invalid, because clients could not reach the duplicate.
async function mergeInto(transaction: Transaction, namespace: string, { ordinal, target }: ResolvedLink) {
  const survivor = await transaction.row<{ id: string; storedAt: number }>(sql`
    SELECT s.id, s.stored_at AS "storedAt" FROM memory m CROSS JOIN memory s
    WHERE m.namespace = ${namespace} AND m.ordinal = ${ordinal} AND s.namespace = ${namespace} AND s.ordinal = ${target}
      AND m.session_id IS NOT NULL AND s.session_id IS NOT NULL AND m.evicted_at IS NOT DISTINCT FROM s.evicted_at
      AND m.merged_into IS NULL AND s.merged_into IS NULL AND m.id <> s.id
      AND NOT EXISTS (SELECT 1 FROM memory t WHERE t.namespace = ${namespace} AND t.merged_into = m.id)`);
  if (!survivor) return [];
  // A duplicate that arrived before its survivor was a memory of its own until then.
  await rememberFields(transaction, namespace, [ordinal], survivor.storedAt, { isRegrouping: true });
  return transaction.rows<Merged>(sql`
    UPDATE memory SET merged_into = ${survivor.id} WHERE namespace = ${namespace} AND ordinal = ${ordinal}
    RETURNING ordinal, evicted_at AS "evictedAt", ${TIER_MEMBER}`);
}

/** Returns a condition: `m` is a memory that one of the links starts from. */
function isLinked({ dialect }: Transaction, namespace: string, links: readonly ResolvedLink[]): Sql {
  return dialect.isMemory(
    'm.ordinal',
    namespace,
    links.map(({ ordinal }) => ordinal),
  );
}

/** Returns the links as a table named `link`. */
function toRecords({ dialect }: Transaction, links: readonly ResolvedLink[]): Sql {
  return dialect.records('link', { ordinal: 'bigint', id: 'text', target: 'bigint' }, links);
}

/** The fields of an existing memory that an import needs. `content` is empty if only links refer to the memory. */
export interface ExistingMemory extends Owner {
  id: string;
  ordinal: number;
  tier: Tier;
  version: number;
  storedAt: number;
  content: string;
  externalId: string | null;
  /** True if a semantic memory was distilled from this memory. */
  isSource: boolean;
}

/** A link whose target memory exists. `id` and `target` are the id and the ordinal of the target. */
type ResolvedLink = PendingLink & { target: number };

/** The namespace that an import writes to. */
interface ImportTarget {
  namespace: string;
  /** Existing memories that the import contains or refers to, by id. Includes memories with new ids. */
  existing: Map<string, ExistingMemory>;
  /** External ids that memories of the namespace have. */
  externalIds: ExternalIds;
  getNewId: GetNewId;
  rooms: Rooms;
  /** Links of earlier imports whose target memory is missing. */
  links: readonly PendingLink[];
  /** Adds a memory without its links, and returns its ordinal. */
  insert(memory: MemoryRecord): number;
}

/** An id in a record of an owner: the id of a memory, or of the target of a link. */
type OwnedId = Owner & { id: string };

/** Returns the id under which a memory of this owner is stored if `id` belongs to another owner. */
type GetNewId = (owner: Owner, id: string) => string;

/**
 * Returns the ids to look up before an import: the ids of the imported memories (`own`) and the ids in their links
 * (`named`), each with the new id that replaces it if another owner has it.
 */
export function getReferencedIds(
  memories: readonly MemoryRecord[],
  getNewId: GetNewId,
): { own: string[]; named: string[] } {
  const withNewId = (owned: OwnedId) => [owned.id, getNewId(owned, owned.id)];
  const named = memories.flatMap((memory) => Array.from(getLinks(memory, 0)).flatMap(withNewId));
  return { own: memories.flatMap(withNewId), named };
}

/**
 * Returns the memory that an owner has with an id, or with the new id that replaces it. Memories of other owners are
 * treated as missing.
 */
export function findOwn(
  { existing, getNewId }: Pick<ImportTarget, 'existing' | 'getNewId'>,
  owned: OwnedId,
): ExistingMemory | undefined {
  const ids = [owned.id, getNewId(owned, owned.id)];
  return ids.map((id) => existing.get(id)).find((found) => found && haveSameOwner(found, owned));
}

/** Imports memories one by one. Returns the outcome of each, and collects the links to set after all are inserted. */
export class RecordImport {
  /** Links to set once all memories are inserted, in the order of the import. */
  readonly links: ResolvedLink[] = [];
  /** `supersedes` links of memories that existed before the import, which may have to be set again. */
  readonly corrections: ResolvedLink[] = [];
  /** Ordinals of memories that existed before the import and may have to be merged again. */
  readonly merging: number[] = [];
  readonly #into: ImportTarget;
  readonly #unresolved: UnresolvedLinks;

  constructor(into: ImportTarget) {
    this.#into = into;
    this.#unresolved = new UnresolvedLinks(into.links);
  }

  /** Links of this import whose target memory is still missing. */
  get waiting(): PendingLink[] {
    return this.#unresolved.added;
  }

  take(memory: MemoryRecord): ImportedRecord {
    const { existing: memories, getNewId } = this.#into;
    const existing = this.#find(memory);
    const id = existing?.id ?? (memories.has(memory.id) ? getNewId(memory, memory.id) : memory.id);
    const outcome = existing ? this.#importExisting(memory, existing) : this.#importNew(memory, id);
    const isStored = existing !== undefined || outcome === 'imported';
    return { outcome, ...(isStored && id !== memory.id && { newId: id }) };
  }

  #importNew(memory: MemoryRecord, id: string): ImportOutcome {
    const { namespace, existing: memories, externalIds, rooms } = this.#into;
    // Another owner can have even the new id, if a client that knew the id has imported a memory with it.
    if (memories.has(id)) return 'different';
    if (memory.tier === 'semantic' && !hasOwnText(memory) && !this.#hasSources(memory)) return 'rootless';
    if (externalIds.find({ ...memory, namespace }) !== undefined) return 'external-id-taken';
    const over = rooms.take({ namespace, userId: memory.userId }, getRecordUsage(memory));
    if (over) return over;
    const ordinal = this.#into.insert({ ...memory, id });
    memories.set(id, { ...memory, id, ordinal, isSource: false });
    externalIds.add({ ...memory, namespace, id });
    for (const link of getLinks(memory, ordinal)) this.#link(link);
    for (const link of this.#unresolved.take(memory.id)) this.#link(link);
    return 'imported';
  }

  /** Collects the missing links of a memory that exists already, and returns the outcome. */
  #importExisting(memory: MemoryRecord, existing: ExistingMemory): ImportOutcome {
    if (!isSame(existing, memory)) return 'different';
    for (const link of getLinks(memory, existing.ordinal)) {
      const target = this.#find(link);
      if (!target) this.#unresolved.add(link);
      else this.#restoreLink(link, target);
    }
    return 'unchanged';
  }

  // A link is stored once both of its memories are stored. The link of an existing memory is missing if the other
  // memory was rejected by an earlier import, or was forgotten later.
  #restoreLink(link: PendingLink, target: ExistingMemory): void {
    if (!isValidLink(link, target)) return;
    if (link.kind === 'supersedes') this.corrections.push({ ...link, id: target.id, target: target.ordinal });
    else if (link.kind === 'mergedInto') this.merging.push(link.ordinal);
    else if (link.kind !== 'supersededBy') this.#link(link);
  }

  // A memory can be a source of only one semantic memory. Otherwise, forgetting the source could not remove its text
  // from the second semantic memory.
  #hasSources(memory: MemoryRecord): boolean {
    const { userId, agentId, derivedFrom } = memory;
    const sources = derivedFrom.flatMap((id) => this.#find({ id, userId, agentId }) ?? []);
    return sources.length > 0 && sources.every(canBeSource);
  }

  #find(owned: OwnedId): ExistingMemory | undefined {
    return findOwn(this.#into, owned);
  }

  #link(link: PendingLink): void {
    const target = this.#find(link);
    if (!target) this.#unresolved.add(link);
    else if (isValidLink(link, target)) {
      if (link.kind === 'source') target.isSource = true;
      this.links.push({ ...link, id: target.id, target: target.ordinal });
    }
  }
}

function isValidLink({ kind }: PendingLink, target: ExistingMemory): boolean {
  if (kind === 'source') return canBeSource(target);
  return kind !== 'formerSource' || target.tier !== 'semantic';
}

function canBeSource({ tier, isSource }: ExistingMemory): boolean {
  return tier !== 'semantic' && !isSource;
}

/** Yields the links of a memory to other memories. */
function* getLinks(memory: MemoryRecord, ordinal: number): Iterable<PendingLink> {
  const from = { ordinal, userId: memory.userId, agentId: memory.agentId };
  for (const kind of ['supersedes', 'mergedInto'] as const) {
    const id = memory[kind];
    if (id !== null) yield { ...from, kind, id };
  }
  for (const id of memory.successors) yield { ...from, kind: 'supersededBy', id };
  for (const id of memory.derivedFrom) yield { ...from, kind: 'source', id };
  for (const id of memory.formerlyDerivedFrom) yield { ...from, kind: 'formerSource', id };
}

/** Links whose target memory is missing, by the id of the target. */
class UnresolvedLinks {
  readonly #byId = new Map<string, PendingLink[]>();
  readonly #added = new Set<PendingLink>();

  constructor(links: readonly PendingLink[]) {
    for (const link of links) this.#put(link);
  }

  /** Unresolved links that were added after construction. */
  get added(): PendingLink[] {
    return [...this.#added];
  }

  add(link: PendingLink): void {
    this.#put(link);
    this.#added.add(link);
  }

  take(id: string): PendingLink[] {
    const links = this.#byId.get(id) ?? [];
    this.#byId.delete(id);
    for (const link of links) this.#added.delete(link);
    return links;
  }

  #put(link: PendingLink): void {
    const links = this.#byId.get(link.id);
    if (links) links.push(link);
    else this.#byId.set(link.id, [link]);
  }
}

/**
 * The fields that identify a version of a memory. Of these fields, consolidation changes only `content`, and only of
 * semantic memories. Accesses change none of them.
 */
type Identity = Pick<MemoryRecord, 'content' | 'version' | 'storedAt' | 'externalId'>;

/** Returns true if the existing and the imported memory are the same version. */
function isSame(existing: Identity, imported: Identity): boolean {
  return (
    existing.content === imported.content &&
    existing.version === imported.version &&
    existing.storedAt === imported.storedAt &&
    existing.externalId === imported.externalId
  );
}
