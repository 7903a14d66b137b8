import type { Imported, ImportOutcome, KeptMemory, KeptRecord, WaitingLink } from '../../../ports/storage-kept.ts';
import type { Quota } from '../../../ports/storage-namespaces.ts';
import { alike } from '../../conditions.ts';
import { type FoundLink, KeptArrivals, lookedFor, type Present } from '../../kept-arrivals.ts';
import { takenBy } from '../../quota.ts';
import { readRooms } from '../../sql/namespace-quotas.ts';
import { textDigest } from '../../text-digest.ts';
import { addAttributes } from '../attributes.ts';
import { type Connection, sql } from '../connection.ts';
import type { FileQueries } from '../queries.ts';
import { awaitMerging, enterKept, leaveRecall } from '../recall-entry.ts';
import { countArrivals } from './arrivals.ts';

/** Keeps records as they were kept elsewhere. See `Storage.importKept`. */
export async function importKept(
  queries: FileQueries,
  namespace: string,
  records: readonly KeptRecord[],
  links: readonly WaitingLink[],
  quota: Quota,
): Promise<Imported> {
  const { connection } = queries;
  const memories = records.flatMap((record) => ('memory' in record ? [record.memory] : []));
  const arrivals = new KeptArrivals({
    namespace,
    present: readPresent(connection, namespace, memories),
    rooms: await readRooms(queries, [namespace], quota),
    links,
    letIn: (memory) => insertKept(connection, namespace, memory),
  });
  const outcomes = records.map((record) =>
    'memory' in record ? arrivals.take(record.memory) : importDeclined(connection, namespace, record.declinedGroup),
  );
  for (const link of arrivals.links) setLink(connection, namespace, link);
  for (const link of arrivals.corrections) correctAgain(connection, link);
  for (const ordinal of arrivals.merging) awaitMerging(connection, ordinal);
  return { outcomes, waiting: arrivals.waiting };
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

/** Writes a memory with all that is its own, and no link yet. Answers its ordinal. */
function insertKept(connection: Connection, namespace: string, memory: KeptMemory): number {
  const { tags, metadata, history, awaits, accessCount, accessedAt, ...columns } = memory;
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
  countArrivals(connection, namespace, [{ ...memory, bytes: takenBy({ ...memory, history: [] }).bytes }]);
  addAttributes(connection, namespace, ordinal, tags, metadata);
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
  if (memory.evictedAt === null) enterKept(connection, ordinal, { ...memory, namespace }, awaits);
  return ordinal;
}

/** Sets a link of a memory to another, unless it no longer makes sense. */
function setLink(connection: Connection, namespace: string, { ordinal, kind, id, target }: FoundLink): void {
  switch (kind) {
    case 'supersedes':
      sql(connection, 'UPDATE memory SET supersedes = ? WHERE ordinal = ? AND supersedes IS NULL').run(id, ordinal);
      break;
    case 'supersededBy':
      sql(connection, 'UPDATE memory SET superseded_by = ? WHERE ordinal = ? AND superseded_by IS NULL').run(
        id,
        ordinal,
      );
      break;
    case 'mergedInto':
      mergeInto(connection, namespace, ordinal, target);
      break;
    case 'source':
      addSource(connection, 'memory_source', ordinal, target);
      break;
    case 'formerSource':
      addSource(connection, 'former_source', ordinal, target);
      break;
  }
}

/** Lets a memory name what it corrects, where that has come back and names it. */
function correctAgain(connection: Connection, { ordinal, id, target }: FoundLink): void {
  sql(
    connection,
    `UPDATE memory AS m SET supersedes = @id WHERE ordinal = @ordinal AND supersedes IS NULL
       AND EXISTS (SELECT 1 FROM memory o WHERE o.ordinal = @target AND o.superseded_by = m.id)`,
  ).run({ ordinal, id, target });
}

// A memory that takes part in a merge twice would be found through nothing.
function mergeInto(connection: Connection, namespace: string, twin: number, survivor: number): void {
  const { changes } = sql(
    connection,
    `UPDATE memory AS m SET merged_into = s.id FROM memory s
     WHERE m.ordinal = @twin AND s.ordinal = @survivor AND m.namespace = s.namespace AND m.session_id = s.session_id
       AND ${alike('m', 's')} AND m.evicted_at IS s.evicted_at
       AND m.merged_into IS NULL AND s.merged_into IS NULL AND m.id <> s.id
       AND NOT EXISTS (SELECT 1 FROM memory t WHERE t.namespace = m.namespace AND t.merged_into = m.id)`,
  ).run({ twin, survivor });
  if (changes > 0) leaveRecall(connection, namespace, twin);
}

function addSource(
  connection: Connection,
  table: 'memory_source' | 'former_source',
  semantic: number,
  source: number,
): void {
  sql(
    connection,
    `INSERT OR IGNORE INTO ${table} (namespace, semantic, source)
     SELECT namespace, ordinal, ? FROM memory WHERE ordinal = ? AND tier = 'semantic'`,
  ).run(source, semantic);
}
