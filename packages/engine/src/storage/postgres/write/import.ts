import type { Imported, ImportOutcome, KeptMemory, KeptRecord, WaitingLink } from '../../../ports/storage-kept.ts';
import type { Quota } from '../../../ports/storage-namespaces.ts';
import { KeptArrivals, lookedFor, type Present } from '../../kept-arrivals.ts';
import { takenBy } from '../../quota.ts';
import { awaitMerging } from '../../sql/candidates.ts';
import { countTiers } from '../../sql/count-tiers.ts';
import { countUsage } from '../../sql/count-usage.ts';
import { correctAgain, setLinks } from '../../sql/import-links.ts';
import { addAttributes } from '../../sql/memory-attributes.ts';
import { readRooms } from '../../sql/namespace-quotas.ts';
import type { Queries } from '../../sql/queries.ts';
import { raw, sql } from '../../sql/sql.ts';
import { textDigest } from '../../text-digest.ts';
import { enterKept } from '../recall-entry.ts';
import type { Transaction } from '../transaction.ts';
import { reserveOrdinals } from './insert.ts';

/** Keeps records as they were kept elsewhere, in a namespace that the transaction has for itself. See `Storage.importKept`. */
export async function importKept(
  transaction: Transaction,
  namespace: string,
  records: readonly KeptRecord[],
  { links, quota }: { links: readonly WaitingLink[]; quota: Quota },
): Promise<Imported> {
  const memories = records.flatMap((record) => ('memory' in record ? [record.memory] : []));
  const present = await readPresent(transaction, namespace, memories);
  const ordinals = (await reserveOrdinals(transaction, memories.filter(({ id }) => !present.has(id)).length)).values();
  const arrived: Arrived[] = [];
  const arrivals = new KeptArrivals({
    namespace,
    present,
    rooms: await readRooms(transaction, [namespace], quota),
    links,
    letIn: (memory) => {
      const ordinal = ordinals.next().value as number;
      arrived.push({ ...memory, ordinal });
      return ordinal;
    },
  });
  const declines = await keepDeclines(transaction, namespace, records);
  const outcomes = records.map((record) =>
    'memory' in record ? arrivals.take(record.memory) : declines.outcome(record.declinedGroup),
  );
  await insertKept(transaction, namespace, arrived);
  await setLinks(transaction, namespace, arrivals.links);
  await correctAgain(transaction, namespace, arrivals.corrections);
  if (arrivals.merging.length > 0) await awaitMerging(transaction, namespace, arrivals.merging);
  return { outcomes, waiting: arrivals.waiting };
}

async function readPresent(
  queries: Queries,
  namespace: string,
  memories: readonly KeptMemory[],
): Promise<Map<string, Present>> {
  const { own, named } = lookedFor(memories);
  const rows = await queries.rows<Present & { id: string }>(sql`
    SELECT m.id, m.ordinal, m.tier, m.version, m.stored_at AS "storedAt",
      CASE WHEN m.id = ANY(${own}::text[]) THEN m.content ELSE '' END AS content,
      EXISTS (SELECT 1 FROM memory_source l WHERE l.namespace = m.namespace AND l.source = m.ordinal) AS "isSource"
    FROM memory m WHERE m.namespace = ${namespace} AND m.id = ANY(${[...new Set([...own, ...named])]}::text[])`);
  return new Map(rows.map((row) => [row.id, row]));
}

/** A memory with its place in the order of arrival. */
type Arrived = KeptMemory & { ordinal: number };

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
