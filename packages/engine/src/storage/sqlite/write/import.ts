import type {
  Awaited,
  Imported,
  ImportOutcome,
  KeptMemory,
  KeptRecord,
  WaitingLink,
} from '../../../ports/storage-kept.ts';
import type { Quota } from '../../../ports/storage-namespaces.ts';
import { KeptArrivals, lookedFor, type Present } from '../../kept-arrivals.ts';
import { takenBy } from '../../quota.ts';
import { awaitDistilling, awaitMerging } from '../../sql/candidates.ts';
import { countTiers } from '../../sql/count-tiers.ts';
import { countUsage } from '../../sql/count-usage.ts';
import { correctAgain, setLinks } from '../../sql/import-links.ts';
import { addAttributes } from '../../sql/memory-attributes.ts';
import { readRooms } from '../../sql/namespace-quotas.ts';
import { textDigest } from '../../text-digest.ts';
import { type Connection, sql } from '../connection.ts';
import { enterKept } from '../recall-entry.ts';
import type { FileTransaction } from '../transaction.ts';

/** Keeps records as they were kept elsewhere. See `Storage.importKept`. */
export async function importKept(
  transaction: FileTransaction,
  namespace: string,
  records: readonly KeptRecord[],
  links: readonly WaitingLink[],
  quota: Quota,
): Promise<Imported> {
  const { connection } = transaction;
  const memories = records.flatMap((record) => ('memory' in record ? [record.memory] : []));
  const arrived: Arrived[] = [];
  const arrivals = new KeptArrivals({
    namespace,
    present: readPresent(connection, namespace, memories),
    rooms: await readRooms(transaction, [namespace], quota),
    links,
    letIn(memory) {
      const ordinal = insertRow(connection, namespace, memory);
      arrived.push({ ...memory, ordinal });
      return ordinal;
    },
  });
  const outcomes = records.map((record) =>
    'memory' in record ? arrivals.take(record.memory) : importDeclined(connection, namespace, record.declinedGroup),
  );
  await finishImport(transaction, namespace, arrived);
  await setLinks(transaction, namespace, arrivals.links);
  await correctAgain(transaction, namespace, arrivals.corrections);
  await awaitMerging(transaction, namespace, arrivals.merging);
  return { outcomes, waiting: arrivals.waiting };
}

/** A memory with its place in the order of arrival. */
type Arrived = KeptMemory & { ordinal: number };

/** Lets filters and recall find memories that have their rows, and counts them. */
async function finishImport(
  transaction: FileTransaction,
  namespace: string,
  arrived: readonly Arrived[],
): Promise<void> {
  if (arrived.length === 0) return;
  await addAttributes(
    transaction,
    arrived.map(({ ordinal, tags, metadata }) => ({ namespace, ordinal, tags, metadata })),
  );
  const inTier = arrived.filter(({ evictedAt }) => evictedAt === null);
  for (const memory of inTier) enterKept(transaction.connection, memory.ordinal, { ...memory, namespace });
  const waiting = (kind: Awaited) => inTier.filter(({ awaits }) => awaits.includes(kind)).map(({ ordinal }) => ordinal);
  await awaitMerging(transaction, namespace, waiting('merging'));
  await awaitDistilling(transaction, namespace, waiting('distilling'));
  await countTiers(
    transaction,
    inTier.map(({ tier }) => ({ namespace, tier, count: 1 })),
  );
  await countUsage(
    transaction,
    arrived.map((memory) => ({ namespace, ...takenBy(memory) })),
  );
}

function readPresent(connection: Connection, namespace: string, memories: readonly KeptMemory[]): Map<string, Present> {
  const { own, named } = lookedFor(memories);
  const owned = new Set(own);
  const find = sql(
    connection,
    `SELECT ordinal, tier, version, stored_at AS storedAt, CASE WHEN @isOwn THEN content ELSE '' END AS content,
       EXISTS (SELECT 1 FROM memory_source l WHERE l.source = m.ordinal) AS isSource
     FROM memory m WHERE namespace = @namespace AND id = @id`,
  );
  const present = new Map<string, Present>();
  for (const id of new Set([...own, ...named])) {
    const found = find.get({ namespace, id, isOwn: Number(owned.has(id)) }) as FoundRow | undefined;
    if (found) present.set(id, { ...found, isSource: found.isSource === 1 });
  }
  return present;
}

type FoundRow = Omit<Present, 'isSource'> & { isSource: number };

function importDeclined(connection: Connection, namespace: string, digest: string): ImportOutcome {
  const { changes } = sql(
    connection,
    'INSERT OR IGNORE INTO declined_group (namespace, digest) VALUES (?, unhex(?))',
  ).run(namespace, digest);
  return changes > 0 ? 'imported' : 'unchanged';
}

/** Writes the rows of a memory, with all its texts, and no link yet; returns its ordinal. */
function insertRow(connection: Connection, namespace: string, memory: KeptMemory): number {
  const { tags, metadata, history, accessCount, accessedAt, ...columns } = memory;
  const { lastInsertRowid } = sql(
    connection,
    `INSERT INTO memory (namespace, id, session_id, source, tier, importance, created_at, stored_at, updated_at,
       expires_at, evicted_at, version, revision, distilled_revision, text_digest, tags, metadata, content)
     VALUES (@namespace, @id, @sessionId, @source, @tier, @importance, @createdAt, @storedAt, @updatedAt,
       @expiresAt, @evictedAt, @version, @revision, @distilledRevision, @digest, @tags, @metadata, @content)`,
  ).run({
    ...columns,
    namespace,
    digest: textDigest(memory.content),
    tags: JSON.stringify(tags),
    metadata: JSON.stringify(metadata),
  });
  const ordinal = Number(lastInsertRowid);
  for (const { revision, content, replacedAt } of history) {
    sql(
      connection,
      'INSERT INTO memory_history (namespace, ordinal, revision, replaced_at, content) VALUES (?, ?, ?, ?, ?)',
    ).run(namespace, ordinal, revision, replacedAt, content);
  }
  if (accessedAt !== null) {
    sql(connection, 'INSERT INTO memory_access (namespace, ordinal, count, last_at) VALUES (?, ?, ?, ?)').run(
      namespace,
      ordinal,
      accessCount,
      accessedAt,
    );
  }
  return ordinal;
}
