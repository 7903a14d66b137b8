import { LIMITS } from '@memoryd/contract/limits';
import type { Owner, OwnerFilter } from '@memoryd/search';
import type { Awaited, ExportFilter, ExportRecord, MemoryRecord } from '../ports/storage-export.ts';
import { createTextsTooLongError } from '../record-size.ts';
import type { Moment } from '../validity.ts';
import { fromJson } from './corruption.ts';
import { ATTACHMENT, isOfOwners, matching, memoryColumns, notExpired, WITH_ACCESS } from './filters.ts';
import { fromMemory, joinKnown } from './known.ts';
import { type MemoryRow, toMemory } from './memory-row.ts';
import type { Dialect, Queries } from './queries.ts';
import { getGroupDigest } from './record-digests.ts';
import { join, raw, type Sql, sql } from './sql.ts';
import { getSuccessors } from './succession.ts';
import { isHolding } from './validity.ts';

/** Ordinals read per query. Large, because SQLite sorts all remaining ordinals of the namespace in each query. */
const ORDINALS_AT_ONCE = 50_000;

/** Memories whose export order is read per query. */
const PLACED_AT_ONCE = 1000;

/** Approximate maximum of memories read per query. */
const READ_AT_ONCE = 64;

/** Approximate maximum of the total bytes of the texts of memories read per query. */
const READ_BYTES = 4 * 1024 * 1024;

/** Earlier texts read per query. Small, because each text may be as long as the largest request. */
const TEXTS_AT_ONCE = 64;

const DECLINED_AT_ONCE = 1000;

/** Yields the records of `Storage.exportRecords`. Must run in a snapshot. */
export async function* keptRecords(
  queries: Queries,
  namespace: string,
  filter: ExportFilter,
): AsyncIterable<ExportRecord> {
  for await (const ordinals of inOrder(queries, namespace, filter)) {
    const rows = await readRows(queries, namespace, ordinals, getMoment(filter));
    const earlier = await earlierTexts(
      queries,
      namespace,
      rows.filter(({ revision }) => revision > 1),
    );
    for (const row of rows) yield { memory: toKept(row, earlier.get(row.ordinal)) };
  }
  if (!isPartial(filter)) yield* declinedGroups(queries, namespace, filter);
}

/** Returns true if a filter may leave out memories of an owner. */
function isPartial({ condition, view }: ExportFilter): boolean {
  return condition !== undefined || view !== undefined;
}

/** Returns a condition on the `memory m` of `fromMemory`: the memory is in the export. */
function isExported(dialect: Dialect, namespace: string, filter: ExportFilter): Sql {
  const conditions = [matching(dialect, namespace, filter, getMoment(filter))];
  if (filter.view) {
    const { moment, holding } = filter.view;
    conditions.push(raw('m.evicted_at IS NULL'), notExpired(moment.now));
    if (holding) conditions.push(isHolding(dialect, moment));
  }
  return join(conditions, ' AND ');
}

function getMoment({ view }: ExportFilter): Pick<Moment, 'known'> {
  return view?.moment ?? {};
}

/** The position of a memory in the export, and the bytes of its texts and its attachment. */
interface ExportOrder {
  ordinal: number;
  id: string;
  bytes: number;
  /** Ordinal of the first source of a semantic memory; null for other memories. */
  first: number | null;
  /** Ordinal of an earlier semantic memory whose first source is this memory. */
  rooted: number | null;
}

/**
 * Yields the ordinals of all memories in export order, in batches to read at once. Throws UNAVAILABLE, before reading
 * the texts, if the texts of a memory exceed the maximum line length.
 */
async function* inOrder(queries: Queries, namespace: string, filter: ExportFilter): AsyncIterable<number[]> {
  let batch: number[] = [];
  let bytes = 0;
  for await (const memory of inOrderOfArrival(queries, namespace, filter)) {
    if (memory.bytes > LIMITS.exportLineBytes) throw createTextsTooLongError(memory.id);
    // A semantic memory with a lower ordinal than all its sources is exported directly after its first source.
    if (memory.first === null || memory.first < memory.ordinal) batch.push(memory.ordinal);
    if (memory.rooted !== null) batch.push(memory.rooted);
    bytes += memory.bytes;
    if (batch.length < READ_AT_ONCE && bytes < READ_BYTES) continue;
    yield batch;
    [batch, bytes] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}

async function* inOrderOfArrival(
  queries: Queries,
  namespace: string,
  filter: ExportFilter,
): AsyncIterable<ExportOrder> {
  const { dialect } = queries;
  const moment = getMoment(filter);
  const index = filter.userIds?.every((id) => id !== '') ? 'memory_by_user' : 'memory_by_time';
  const hint = moment.known === undefined ? dialect.indexedBy(index) : raw('');
  let ordinals: number[] = [];
  do {
    const next = await queries.rows<{ ordinal: number }>(sql`
      SELECT m.ordinal FROM ${fromMemory(dialect, moment)} ${hint}
      WHERE ${isExported(dialect, namespace, filter)} AND m.ordinal > ${ordinals.at(-1) ?? 0} ORDER BY m.ordinal LIMIT ${ORDINALS_AT_ONCE}`);
    ordinals = next.map(({ ordinal }) => ordinal);
    for (let from = 0; from < ordinals.length; from += PLACED_AT_ONCE) {
      yield* await readOrder(queries, namespace, ordinals.slice(from, from + PLACED_AT_ONCE), filter);
    }
  } while (ordinals.length === ORDINALS_AT_ONCE);
}

function readOrder(
  queries: Queries,
  namespace: string,
  ordinals: readonly number[],
  filter: ExportFilter,
): Promise<ExportOrder[]> {
  const { dialect } = queries;
  // A link to a memory that is not in the export does not change the order.
  const moment = getMoment(filter);
  const isLinked = (ordinal: string) =>
    isPartial(filter)
      ? sql`EXISTS (
          SELECT 1 FROM ${fromMemory(dialect, moment)}
          WHERE ${isExported(dialect, namespace, filter)} AND m.ordinal = ${raw(ordinal)})`
      : raw('true');
  return queries.rows<ExportOrder>(sql`
    SELECT m.ordinal, m.id,
      CAST(octet_length(m.content) + m.attachment_bytes + CASE WHEN m.revision > 1 THEN coalesce((
        SELECT sum(octet_length(h.content)) FROM memory_history h
        WHERE h.namespace = m.namespace AND h.ordinal = m.ordinal), 0) ELSE 0 END AS bigint) AS bytes,
      CASE WHEN m.tier = 'semantic' THEN (
        SELECT min(l.source) FROM memory_source l WHERE l.namespace = m.namespace AND l.semantic = m.ordinal
          AND ${isLinked('l.source')})
      END AS first,
      (SELECT l.semantic FROM memory_source l
       WHERE l.namespace = m.namespace AND l.source = m.ordinal AND l.semantic < m.ordinal
         AND ${isLinked('l.semantic')} AND NOT EXISTS (
         SELECT 1 FROM memory_source o
         WHERE o.namespace = l.namespace AND o.semantic = l.semantic AND o.source < l.source
           AND ${isLinked('o.source')})) AS rooted
    FROM ${dialect.ordinals('named', ordinals)}
    ${joinKnown(dialect, moment, 'm', { namespace: sql`${namespace}`, ordinal: raw('named.ordinal') })} ORDER BY named.place`);
}

type KeptRow = MemoryRow & {
  evicted_at: number | null;
  revision: number;
  distilled_revision: number | null;
  formerly_derived_from: string;
  successors: string;
  awaits_merging: boolean | number;
  awaits_distilling: boolean | number;
};

function readRows(
  queries: Queries,
  namespace: string,
  ordinals: readonly number[],
  moment: Pick<Moment, 'known'>,
): Promise<KeptRow[]> {
  const { dialect } = queries;
  return queries.rows<KeptRow>(sql`
    SELECT ${memoryColumns(dialect, raw('NULL'), moment)}, ${getSuccessors(dialect, moment)} AS successors, ${ATTACHMENT}, m.evicted_at, m.revision, m.distilled_revision,
      CASE WHEN m.tier = 'semantic' THEN (
        SELECT ${dialect.jsonArray(raw('s.id'), raw('s.created_at, s.ordinal'))}
        FROM former_source l CROSS JOIN memory s WHERE l.namespace = m.namespace AND l.semantic = m.ordinal
          AND s.namespace = l.namespace AND s.ordinal = l.source)
      ELSE '[]' END AS formerly_derived_from,
      EXISTS (SELECT 1 FROM merge_candidate q WHERE q.namespace = m.namespace AND q.ordinal = m.ordinal)
        AS awaits_merging,
      EXISTS (SELECT 1 FROM distil_candidate q WHERE q.namespace = m.namespace AND q.ordinal = m.ordinal)
        AS awaits_distilling
    FROM ${dialect.ordinals('named', ordinals)}
    ${joinKnown(dialect, moment, 'm', { namespace: sql`${namespace}`, ordinal: raw('named.ordinal') })} ${WITH_ACCESS}
    ORDER BY named.place`);
}

/**
 * Returns the texts of memories before the given revisions, by ordinal. Reads one row per text, because an aggregate
 * could exceed the maximum size of a value.
 */
async function earlierTexts(
  queries: Queries,
  namespace: string,
  memories: readonly Pick<KeptRow, 'ordinal' | 'revision'>[],
): Promise<Map<number, MemoryRecord['history']>> {
  const texts = new Map<number, MemoryRecord['history']>();
  if (memories.length === 0) return texts;
  const revisions = new Map(memories.map(({ ordinal, revision }) => [ordinal, revision]));
  let rows: (MemoryRecord['history'][number] & { ordinal: number })[] = [];
  do {
    const { ordinal: last = 0, revision = 0 } = rows.at(-1) ?? {};
    rows = await queries.rows(sql`
      SELECT ordinal, revision, content, replaced_at AS "replacedAt" FROM memory_history
      WHERE ${queries.dialect.isMemory('ordinal', namespace, [...revisions.keys()])}
        AND (ordinal, revision) > (CAST(${last} AS bigint), CAST(${revision} AS integer))
      ORDER BY ordinal, revision LIMIT ${TEXTS_AT_ONCE}`);
    for (const { ordinal, ...text } of rows) {
      if (text.revision >= (revisions.get(ordinal) as number)) continue;
      const before = texts.get(ordinal);
      if (before) before.push(text);
      else texts.set(ordinal, [text]);
    }
  } while (rows.length === TEXTS_AT_ONCE);
  return texts;
}

function toKept(row: KeptRow, history: MemoryRecord['history'] = []): MemoryRecord {
  const { ordinal: _, earlierRevision: __, supersededBy: ___, ...memory } = toMemory(row);
  return {
    ...memory,
    evictedAt: row.evicted_at,
    revision: row.revision,
    distilledRevision: row.distilled_revision,
    successors: fromJson<string[]>(row.successors, 'the successors of memory', row.id),
    formerlyDerivedFrom: fromJson<string[]>(row.formerly_derived_from, 'the former sources of memory', row.id),
    history,
    awaits: getQueues(row),
  };
}

function getQueues({ awaits_merging, awaits_distilling }: KeptRow): Awaited[] {
  return [...(awaits_merging ? (['merging'] as const) : []), ...(awaits_distilling ? (['distilling'] as const) : [])];
}

async function* declinedGroups(queries: Queries, namespace: string, of: OwnerFilter): AsyncIterable<ExportRecord> {
  let rows: (Owner & { digest: Buffer })[] = [];
  do {
    const { digest: last, userId, agentId } = rows.at(-1) ?? { digest: Buffer.of(), userId: '', agentId: '' };
    rows = await queries.rows(sql`
      SELECT m.digest, m.user_id AS "userId", m.agent_id AS "agentId" FROM declined_group m
      WHERE m.namespace = ${namespace} AND ${isOfOwners(queries.dialect, of)}
        AND (m.digest, m.user_id, m.agent_id) > (${last}, ${userId}, ${agentId})
      ORDER BY m.digest, m.user_id, m.agent_id LIMIT ${DECLINED_AT_ONCE}`);
    for (const { digest, ...owner } of rows) yield { declinedGroup: digest.toString('hex').toUpperCase(), ...owner };
  } while (rows.length === DECLINED_AT_ONCE);
}

/**
 * Returns the digest of a group of memories with their current texts. The order of the ordinals does not affect the
 * digest.
 */
export async function groupDigest(queries: Queries, namespace: string, ordinals: readonly number[]): Promise<Buffer> {
  return getGroupDigest(
    await queries.rows<{ id: string; revision: number }>(sql`
      SELECT m.id, m.revision FROM ${queries.dialect.ordinals('named', ordinals)} CROSS JOIN memory m
      WHERE m.namespace = ${namespace} AND m.ordinal = named.ordinal`),
  );
}

/**
 * Returns true if a semantic memory that was distilled from this group of an owner with its current texts was forgotten
 * by a client, or deleted by the undo of a run.
 */
export async function isDeclined(
  queries: Queries,
  namespace: string,
  { userId, agentId }: Owner,
  ordinals: readonly number[],
): Promise<boolean> {
  const digest = await groupDigest(queries, namespace, ordinals);
  const declined = await queries.row(sql`
    SELECT 1 FROM declined_group
    WHERE namespace = ${namespace} AND digest = ${digest} AND user_id = ${userId} AND agent_id = ${agentId}`);
  return declined !== undefined;
}
