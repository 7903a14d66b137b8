import type {
  Awaited,
  Imported,
  ImportOutcome,
  KeptMemory,
  KeptRecord,
  WaitingLink,
} from '../../ports/storage-kept.ts';
import type { Quotas } from '../../ports/storage-namespaces.ts';
import { awaitDistilling, awaitMerging } from './candidates.ts';
import { countTiers, countUsage } from './counters.ts';
import { correctAgain, KeptArrivals, lookedFor, type Present, setLinks } from './import-links.ts';
import { insertRows } from './memory-rows.ts';
import type { Queries, Transaction } from './queries.ts';
import { readRooms, takenBy } from './quotas.ts';
import { raw, sql } from './sql.ts';

/** Stores records of another database, in a namespace that the transaction has for itself. See `Storage.importKept`. */
export async function importKept(
  transaction: Transaction,
  namespace: string,
  records: readonly KeptRecord[],
  links: readonly WaitingLink[],
  quota: Quotas,
): Promise<Imported> {
  const memories = records.flatMap((record) => ('memory' in record ? [record.memory] : []));
  const present = await readPresent(transaction, namespace, memories);
  const count = memories.filter(({ id }) => !present.has(id)).length;
  const ordinals = (await transaction.nextOrdinals(count)).values();
  const arrived: Arrived[] = [];
  const arrivals = new KeptArrivals({
    namespace,
    present,
    rooms: await readRooms(
      transaction,
      memories.map(({ userId }) => ({ namespace, userId })),
      quota,
    ),
    links,
    letIn(memory) {
      const ordinal = ordinals.next().value as number;
      arrived.push({ ...memory, namespace, ordinal });
      return ordinal;
    },
  });
  const outcomes: ImportOutcome[] = [];
  for (const record of records) {
    const outcome =
      'memory' in record ? arrivals.take(record.memory) : await importDeclined(transaction, namespace, record);
    outcomes.push(outcome);
  }
  await insertKept(transaction, namespace, arrived);
  await setLinks(transaction, namespace, arrivals.links);
  await correctAgain(transaction, namespace, arrivals.corrections);
  await awaitMerging(transaction, namespace, arrivals.merging);
  return { outcomes, waiting: arrivals.waiting };
}

/** A memory with its place in the order of arrival. */
type Arrived = KeptMemory & { namespace: string; ordinal: number };

async function readPresent(
  queries: Queries,
  namespace: string,
  memories: readonly KeptMemory[],
): Promise<Map<string, Present>> {
  const { own, named } = lookedFor(memories);
  const { isIn } = queries.dialect;
  const rows = await queries.rows<Omit<Present, 'isSource'> & { id: string; isSource: boolean | number }>(sql`
    SELECT m.id, m.ordinal, m.tier, m.user_id AS "userId", m.agent_id AS "agentId", m.version,
      m.stored_at AS "storedAt",
      CASE WHEN ${isIn(raw('m.id'), own)} THEN m.content ELSE '' END AS content,
      EXISTS (SELECT 1 FROM memory_source l WHERE l.namespace = m.namespace AND l.source = m.ordinal) AS "isSource"
    FROM memory m WHERE m.namespace = ${namespace} AND ${isIn(raw('m.id'), [...new Set([...own, ...named])])}`);
  return new Map(rows.map((row) => [row.id, { ...row, isSource: Boolean(row.isSource) }]));
}

async function importDeclined(
  transaction: Transaction,
  namespace: string,
  { declinedGroup, userId, agentId }: Extract<KeptRecord, { declinedGroup: string }>,
): Promise<ImportOutcome> {
  const count = await transaction.run(sql`
    INSERT INTO declined_group (namespace, digest, user_id, agent_id)
    VALUES (${namespace}, ${Buffer.from(declinedGroup, 'hex')}, ${userId}, ${agentId})
    ON CONFLICT DO NOTHING`);
  return count > 0 ? 'imported' : 'unchanged';
}

const HISTORY = {
  namespace: 'text',
  ordinal: 'bigint',
  revision: 'integer',
  replaced_at: 'bigint',
  content: 'text',
} as const;

const ACCESS = { namespace: 'text', ordinal: 'bigint', count: 'integer', last_at: 'bigint' } as const;

/** Writes memories with all that is their own, and no link yet. */
async function insertKept(transaction: Transaction, namespace: string, memories: readonly Arrived[]): Promise<void> {
  if (memories.length === 0) return;
  await insertRows(
    transaction,
    memories.map((memory) => ({ ...memory, supersedes: null })),
  );
  const texts = memories.flatMap(({ ordinal, history }) =>
    history.map(({ revision, replacedAt, content }) => ({
      namespace,
      ordinal,
      revision,
      replaced_at: replacedAt,
      content,
    })),
  );
  await transaction.insert('memory_history', HISTORY, texts);
  const used = memories.filter(({ accessedAt }) => accessedAt !== null);
  const accesses = used.map(({ ordinal, accessCount, accessedAt }) => ({
    namespace,
    ordinal,
    count: accessCount,
    last_at: accessedAt,
  }));
  await transaction.insert('memory_access', ACCESS, accesses);
  await enterKept(transaction, namespace, memories);
  await countUsage(
    transaction,
    memories.map((memory) => ({ namespace, userId: memory.userId, ...takenBy(memory) })),
  );
}

/** Lets recall find memories that are in a tier, and consolidation do what they await. */
async function enterKept(transaction: Transaction, namespace: string, memories: readonly Arrived[]): Promise<void> {
  const inTier = memories.filter(({ evictedAt }) => evictedAt === null);
  await transaction.recall.enterNew(inTier, 'not waited for');
  const awaiting = (kind: Awaited) =>
    inTier.filter(({ awaits }) => awaits.includes(kind)).map(({ ordinal }) => ordinal);
  await awaitMerging(transaction, namespace, awaiting('merging'));
  await awaitDistilling(transaction, namespace, awaiting('distilling'));
  await countTiers(
    transaction,
    inTier.map(({ tier }) => ({ namespace, tier, count: 1 })),
  );
}
