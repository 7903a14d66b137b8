import type { Imported, ImportOutcome, KeptMemory, KeptRecord, WaitingLink } from '../../../ports/storage-kept.ts';
import type { Quota } from '../../../ports/storage-namespaces.ts';
import { alike } from '../../conditions.ts';
import { type Rooms, takenBy } from '../../quota.ts';
import { hasOwnText } from '../../sources.ts';
import { textDigest } from '../../text-digest.ts';
import { isSame, linksOf, WaitingLinks } from '../../waiting-links.ts';
import { addAttributes } from '../attributes.ts';
import { type Connection, sql } from '../connection.ts';
import { awaitMerging, enterKept, leaveRecall } from '../recall-entry.ts';
import { countArrivals } from './arrivals.ts';
import { readRooms } from './quota.ts';
import { distilledFrom } from './sources.ts';

/** A row that an import looks at. */
interface Present {
  ordinal: number;
  id: string;
  tier: KeptMemory['tier'];
  content: string;
  version: number;
  storedAt: number;
}

/** Keeps records as they were kept elsewhere. See `Storage.importKept`. */
export function importKept(
  connection: Connection,
  namespace: string,
  records: readonly KeptRecord[],
  links: readonly WaitingLink[],
  quota: Quota,
): Imported {
  const waiting = new WaitingLinks(links);
  const rooms = readRooms(connection, [namespace], quota);
  const outcomes = records.map((record) =>
    'memory' in record
      ? importMemory(connection, namespace, record.memory, { waiting, rooms })
      : importDeclined(connection, namespace, record.declinedGroup),
  );
  return { outcomes, waiting: waiting.added };
}

function importDeclined(connection: Connection, namespace: string, digest: string): ImportOutcome {
  const { changes } = sql(
    connection,
    'INSERT OR IGNORE INTO declined_group (namespace, digest) VALUES (?, unhex(?))',
  ).run(namespace, digest);
  return changes > 0 ? 'imported' : 'unchanged';
}

function importMemory(
  connection: Connection,
  namespace: string,
  memory: KeptMemory,
  { waiting, rooms }: { waiting: WaitingLinks; rooms: Rooms },
): ImportOutcome {
  const there = find(connection, namespace, memory.id);
  if (there) return meetAgain(connection, namespace, memory, { there, waiting });
  if (memory.tier === 'semantic' && !hasOwnText(memory) && !hasRoots(connection, namespace, memory)) return 'rootless';
  const over = rooms.take(namespace, takenBy(memory));
  if (over) return over;
  const ordinal = insertKept(connection, namespace, memory);
  for (const link of linksOf(memory, ordinal)) {
    const target = find(connection, namespace, link.id);
    if (target) setLink(connection, namespace, link, target);
    else waiting.add(link);
  }
  const present = { ...memory, ordinal };
  for (const link of waiting.take(memory.id)) setLink(connection, namespace, link, present);
  return 'imported';
}

/** What becomes of a memory whose id is there. */
function meetAgain(
  connection: Connection,
  namespace: string,
  memory: KeptMemory,
  { there, waiting }: { there: Present; waiting: WaitingLinks },
): ImportOutcome {
  if (!isSame(there, memory)) return 'different';
  for (const link of linksOf(memory, there.ordinal)) {
    const target = find(connection, namespace, link.id);
    if (!target) waiting.add(link);
    else linkAgain(connection, namespace, link, target);
  }
  return 'unchanged';
}

// Most links were set when the second of the two came; but that may have been refused then, or forgotten since.
function linkAgain(
  connection: Connection,
  namespace: string,
  link: WaitingLink,
  target: Pick<Present, 'ordinal' | 'tier'>,
): void {
  if (link.kind === 'supersedes') correctAgain(connection, link, target);
  else if (link.kind === 'mergedInto') awaitMerging(connection, link.ordinal);
  else if (link.kind !== 'supersededBy') setLink(connection, namespace, link, target);
}

/** Lets a memory name what it corrects, where that has come back and names it. */
function correctAgain(connection: Connection, { ordinal, id }: WaitingLink, target: Pick<Present, 'ordinal'>): void {
  sql(
    connection,
    `UPDATE memory AS m SET supersedes = @id WHERE ordinal = @ordinal AND supersedes IS NULL
       AND EXISTS (SELECT 1 FROM memory o WHERE o.ordinal = @target AND o.superseded_by = m.id)`,
  ).run({ ordinal, id, target: target.ordinal });
}

function find(connection: Connection, namespace: string, id: string): Present | undefined {
  return sql(
    connection,
    'SELECT ordinal, id, tier, content, version, stored_at AS storedAt FROM memory WHERE namespace = ? AND id = ?',
  ).get(namespace, id) as Present | undefined;
}

// A source that is another's by now would be quoted without a link, and its words stay when it is forgotten.
function hasRoots(connection: Connection, namespace: string, { derivedFrom }: KeptMemory): boolean {
  const sources = derivedFrom.flatMap((id) => find(connection, namespace, id) ?? []);
  return sources.length > 0 && sources.every((source) => canBeSource(connection, source));
}

function canBeSource(connection: Connection, { ordinal, tier }: Pick<Present, 'ordinal' | 'tier'>): boolean {
  return tier !== 'semantic' && distilledFrom(connection, ordinal) === undefined;
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
    sql(connection, 'INSERT INTO memory_history (ordinal, revision, replaced_at, content) VALUES (?, ?, ?, ?)').run(
      ordinal,
      revision,
      replacedAt,
      content,
    );
  }
  if (accessedAt !== null) {
    sql(connection, 'INSERT INTO memory_access (ordinal, count, last_at) VALUES (?, ?, ?)').run(
      ordinal,
      accessCount,
      accessedAt,
    );
  }
  if (memory.evictedAt === null) enterKept(connection, { ...memory, namespace, ordinal }, awaits);
  return ordinal;
}

/** Sets a link of a memory to another, unless it no longer makes sense. */
function setLink(
  connection: Connection,
  namespace: string,
  { ordinal, kind, id }: WaitingLink,
  target: Pick<Present, 'ordinal' | 'tier'>,
): void {
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
      mergeInto(connection, namespace, ordinal, target.ordinal);
      break;
    case 'source':
      if (canBeSource(connection, target)) addSource(connection, 'memory_source', ordinal, target.ordinal);
      break;
    case 'formerSource':
      if (target.tier !== 'semantic') addSource(connection, 'former_source', ordinal, target.ordinal);
      break;
  }
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
    `INSERT OR IGNORE INTO ${table} (semantic, source)
     SELECT ordinal, ? FROM memory WHERE ordinal = ? AND tier = 'semantic'`,
  ).run(source, semantic);
}
