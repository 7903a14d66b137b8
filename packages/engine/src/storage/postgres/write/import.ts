import type { Tier } from '@memoryd/contract';
import type { Imported, ImportOutcome, KeptMemory, KeptRecord, WaitingLink } from '../../../ports/storage-kept.ts';
import type { Quota } from '../../../ports/storage-namespaces.ts';
import { type Rooms, takenBy } from '../../quota.ts';
import { hasOwnText } from '../../sources.ts';
import { textDigest } from '../../text-digest.ts';
import { isSame, linksOf, WaitingLinks } from '../../waiting-links.ts';
import { addAttributes } from '../attributes.ts';
import type { Queries, Transaction } from '../connection.ts';
import { awaitMerging, enterKept } from '../recall-entry.ts';
import { raw, sql } from '../sql.ts';
import { correctAgain, type FoundLink, setLinks } from './import-links.ts';
import { readRooms } from './quota.ts';
import { reserveOrdinals } from './store.ts';
import { countTiers } from './tiers.ts';
import { countUsage } from './usage.ts';

/** Keeps records as they were kept elsewhere, in a namespace that the transaction has for itself. See `Storage.importKept`. */
export async function importKept(
  transaction: Transaction,
  namespace: string,
  records: readonly KeptRecord[],
  { links, quota }: { links: readonly WaitingLink[]; quota: Quota },
): Promise<Imported> {
  const memories = records.flatMap((record) => ('memory' in record ? [record.memory] : []));
  const present = await readPresent(transaction, namespace, memories);
  const arrivals = new Arrivals(present, {
    ordinals: await reserveOrdinals(transaction, memories.filter(({ id }) => !present.has(id)).length),
    rooms: await readRooms(transaction, [namespace], quota),
    waiting: new WaitingLinks(links),
    namespace,
  });
  const declines = await keepDeclines(transaction, namespace, records);
  const outcomes = records.map((record) =>
    'memory' in record ? arrivals.take(record.memory) : declines.outcome(record.declinedGroup),
  );
  await insertKept(transaction, namespace, arrivals.imported);
  await setLinks(transaction, namespace, arrivals.links);
  await correctAgain(transaction, namespace, arrivals.corrections);
  if (arrivals.merging.length > 0) await awaitMerging(transaction, namespace, arrivals.merging);
  return { outcomes, waiting: arrivals.waiting };
}

/** A memory that is there, as far as imports look at it; of those that only links name, no text. */
interface Present {
  id: string;
  ordinal: number;
  tier: Tier;
  version: number;
  storedAt: number;
  content: string;
  isSource: boolean;
}

/** Those that are there of some memories and of what these name, by their ids. */
async function readPresent(
  queries: Queries,
  namespace: string,
  memories: readonly KeptMemory[],
): Promise<Map<string, Present>> {
  const own = memories.map(({ id }) => id);
  const named = memories.flatMap((memory) => Array.from(linksOf(memory, 0), ({ id }) => id));
  const rows = await queries.rows<Present>(sql`
    SELECT m.id, m.ordinal, m.tier, m.version, m.stored_at AS "storedAt",
      CASE WHEN m.id = ANY(${own}::text[]) THEN m.content ELSE '' END AS content,
      EXISTS (SELECT 1 FROM memory_source l WHERE l.namespace = m.namespace AND l.source = m.ordinal) AS "isSource"
    FROM memory m WHERE m.namespace = ${namespace} AND m.id = ANY(${[...new Set([...own, ...named])]}::text[])`);
  return new Map(rows.map((row) => [row.id, row]));
}

/** A memory with its place in the order of arrival. */
type Arrived = KeptMemory & { ordinal: number };

/** Memories that come one after the other to those that are there. */
class Arrivals {
  /** What is to be kept. */
  readonly imported: Arrived[] = [];
  /** The links that find their memories, in their order, with the ordinals of these. */
  readonly links: FoundLink[] = [];
  /** Links to what memories that were there already corrected, and may correct again. */
  readonly corrections: FoundLink[] = [];
  /** Memories that were there already and may be merged again. */
  readonly merging: number[] = [];
  readonly #present: Map<string, Present>;
  readonly #namespace: string;
  readonly #ordinals: Iterator<number>;
  readonly #rooms: Rooms;
  readonly #waiting: WaitingLinks;

  constructor(
    present: Map<string, Present>,
    of: { namespace: string; ordinals: readonly number[]; rooms: Rooms; waiting: WaitingLinks },
  ) {
    this.#present = present;
    this.#namespace = of.namespace;
    this.#ordinals = of.ordinals.values();
    this.#rooms = of.rooms;
    this.#waiting = of.waiting;
  }

  /** Links that came with these and still wait. */
  get waiting(): WaitingLink[] {
    return this.#waiting.added;
  }

  take(memory: KeptMemory): ImportOutcome {
    const there = this.#present.get(memory.id);
    if (there) return this.#meetAgain(memory, there);
    if (memory.tier === 'semantic' && !hasOwnText(memory) && !this.#hasRoots(memory)) return 'rootless';
    const over = this.#rooms.take(this.#namespace, takenBy(memory));
    if (over) return over;
    const arrived = { ...memory, ordinal: this.#ordinals.next().value as number };
    this.imported.push(arrived);
    this.#present.set(memory.id, { ...arrived, isSource: false });
    for (const link of linksOf(memory, arrived.ordinal)) this.#link(link);
    for (const link of this.#waiting.take(memory.id)) this.#link(link);
    return 'imported';
  }

  /** What becomes of a memory whose id is there. */
  #meetAgain(memory: KeptMemory, there: Present): ImportOutcome {
    if (!isSame(there, memory)) return 'different';
    for (const link of linksOf(memory, there.ordinal)) {
      const target = this.#present.get(link.id);
      if (!target) this.#waiting.add(link);
      else this.#linkAgain(link, target);
    }
    return 'unchanged';
  }

  // Most links were set when the second of the two came; but that may have been refused then, or forgotten since.
  #linkAgain(link: WaitingLink, target: Present): void {
    if (link.kind === 'supersedes') this.corrections.push({ ...link, target: target.ordinal });
    else if (link.kind === 'mergedInto') this.merging.push(link.ordinal);
    else if (link.kind !== 'supersededBy') this.#link(link);
  }

  // A source that is another's by now would be quoted without a link, and its words stay when it is forgotten.
  #hasRoots({ derivedFrom }: KeptMemory): boolean {
    const sources = derivedFrom.flatMap((id) => this.#present.get(id) ?? []);
    return sources.length > 0 && sources.every(canBeSource);
  }

  #link(link: WaitingLink): void {
    const target = this.#present.get(link.id);
    if (!target) this.#waiting.add(link);
    else if (this.#makesSense(link, target)) this.links.push({ ...link, target: target.ordinal });
  }

  #makesSense({ kind }: WaitingLink, target: Present): boolean {
    if (kind === 'formerSource') return target.tier !== 'semantic';
    if (kind !== 'source') return true;
    if (!canBeSource(target)) return false;
    target.isSource = true;
    return true;
  }
}

function canBeSource({ tier, isSource }: Present): boolean {
  return tier !== 'semantic' && !isSource;
}

/** Keeps the declined groups among records; each is imported once. */
async function keepDeclines(transaction: Transaction, namespace: string, records: readonly KeptRecord[]) {
  const digests = records.flatMap((record) => ('memory' in record ? [] : [record.declinedGroup]));
  const kept =
    digests.length === 0
      ? []
      : await transaction.rows<{ digest: string }>(sql`
          INSERT INTO declined_group (namespace, digest)
          SELECT DISTINCT ${namespace}, decode(digest, 'hex') FROM unnest(${digests}::text[]) AS group_of(digest)
          ON CONFLICT DO NOTHING RETURNING upper(encode(digest, 'hex')) AS digest`);
  const anew = new Set(kept.map(({ digest }) => digest));
  return {
    outcome: (digest: string): ImportOutcome => (anew.delete(digest.toUpperCase()) ? 'imported' : 'unchanged'),
  };
}

/** Writes memories with all that is their own, and no link yet. */
async function insertKept(transaction: Transaction, namespace: string, memories: readonly Arrived[]): Promise<void> {
  if (memories.length === 0) return;
  await insertRows(transaction, namespace, memories);
  await addAttributes(
    transaction,
    memories.map(({ ordinal, tags, metadata }) => ({ namespace, ordinal, tags, metadata })),
  );
  const inTier = memories.filter(({ evictedAt }) => evictedAt === null).map((memory) => ({ ...memory, namespace }));
  await enterKept(transaction, inTier);
  await countTiers(
    transaction,
    inTier.map(({ tier }) => ({ namespace, tier, count: 1 })),
  );
  await countUsage(
    transaction,
    memories.map((memory) => ({ namespace, ...takenBy(memory) })),
  );
}

const COLUMNS = raw(`ordinal, id, session_id, source, tier, importance, created_at, stored_at, updated_at, expires_at,
  evicted_at, version, revision, distilled_revision, tags, metadata, content`);

async function insertRows(transaction: Transaction, namespace: string, memories: readonly Arrived[]): Promise<void> {
  const texts = memories.flatMap(({ ordinal, history }) =>
    history.map(({ revision, replacedAt, content }) => ({ ordinal, revision, replaced_at: replacedAt, content })),
  );
  const used = memories.filter(({ accessedAt }) => accessedAt !== null);
  await transaction.run(sql`
    INSERT INTO memory (namespace, ${COLUMNS}, text_digest)
    SELECT ${namespace}, ${COLUMNS}, decode(text_digest, 'hex')
    FROM json_to_recordset(${JSON.stringify(memories.map(toRow))}::json) AS row(
      ordinal bigint, id text, session_id text, source text, tier text, importance double precision,
      created_at bigint, stored_at bigint, updated_at bigint, expires_at bigint, evicted_at bigint, version integer,
      revision integer, distilled_revision integer, text_digest text, tags text, metadata text, content text)`);
  await transaction.run(sql`
    INSERT INTO memory_history (namespace, ordinal, revision, replaced_at, content)
    SELECT ${namespace}, ordinal, revision, replaced_at, content
    FROM json_to_recordset(${JSON.stringify(texts)}::json) AS earlier(
      ordinal bigint, revision integer, replaced_at bigint, content text)`);
  await transaction.run(sql`
    INSERT INTO memory_access (namespace, ordinal, count, last_at)
    SELECT ${namespace}, * FROM unnest(${used.map((memory) => memory.ordinal)}::bigint[],
      ${used.map((memory) => memory.accessCount)}::integer[], ${used.map((memory) => memory.accessedAt)}::bigint[])`);
}

function toRow(memory: Arrived) {
  return {
    ordinal: memory.ordinal,
    id: memory.id,
    session_id: memory.sessionId,
    source: memory.source,
    tier: memory.tier,
    importance: memory.importance,
    created_at: memory.createdAt,
    stored_at: memory.storedAt,
    updated_at: memory.updatedAt,
    expires_at: memory.expiresAt,
    evicted_at: memory.evictedAt,
    version: memory.version,
    revision: memory.revision,
    distilled_revision: memory.distilledRevision,
    text_digest: textDigest(memory.content).toString('hex'),
    tags: JSON.stringify(memory.tags),
    metadata: JSON.stringify(memory.metadata),
    content: memory.content,
  };
}
