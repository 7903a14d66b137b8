import { LIMITS } from '@memoryd/contract/limits';
import { textsTooLong } from '../../../core/texts-too-long.ts';
import type { Awaited, KeptMemory, KeptRecord } from '../../../ports/storage-kept.ts';
import { type MemoryRow, toMemory } from '../../memory-row.ts';
import { memoryColumns, WITH_ACCESS } from '../../sql/memory-columns.ts';
import type { Queries } from '../../sql/queries.ts';
import { raw, sql } from '../../sql/sql.ts';

/** Memories whose places are looked up at once. */
const PLACED_AT_ONCE = 1000;

/** Memories, and bytes of their texts, beyond which no more are read at once. */
const READ_AT_ONCE = 64;
const READ_BYTES = 4 * 1024 * 1024;

/** Earlier texts that are read at once, each of which may be as long as a request. */
const TEXTS_AT_ONCE = 64;

const DECLINED_AT_ONCE = 1000;

/** The records of `Storage.kept`. To be read in a snapshot. */
export async function* keptRecords(queries: Queries, namespace: string): AsyncIterable<KeptRecord> {
  for await (const ordinals of inOrder(queries, namespace)) {
    const rows = await readKept(queries, namespace, ordinals);
    const earlier = await earlierTexts(
      queries,
      namespace,
      rows.filter(({ revision }) => revision > 1).map(({ ordinal }) => ordinal),
    );
    for (const row of rows) yield { memory: toKept(row, earlier.get(row.ordinal)) };
  }
  yield* declinedGroups(queries, namespace);
}

/** A memory in order of arrival, with the bytes of its texts. */
interface Placed {
  ordinal: number;
  id: string;
  bytes: number;
  /** The first source of a semantic memory; null for others. */
  first: number | null;
  /** The semantic memory before it that has it as its first source. */
  rooted: number | null;
}

/**
 * The ordinals of all memories in the order of their records, as many at a time as are to be read at once. Throws
 * UNAVAILABLE before the texts of one are read that no line holds.
 */
async function* inOrder(queries: Queries, namespace: string): AsyncIterable<number[]> {
  let some: number[] = [];
  let bytes = 0;
  for await (const placed of inOrderOfArrival(queries, namespace)) {
    if (placed.bytes > LIMITS.exportLineBytes) throw textsTooLong(placed.id);
    // Such a memory got all its sources after it was made; it comes with the first of them.
    if (placed.first === null || placed.first < placed.ordinal) some.push(placed.ordinal);
    if (placed.rooted !== null) some.push(placed.rooted);
    bytes += placed.bytes;
    if (some.length < READ_AT_ONCE && bytes < READ_BYTES) continue;
    yield some;
    [some, bytes] = [[], 0];
  }
  if (some.length > 0) yield some;
}

async function* inOrderOfArrival(queries: Queries, namespace: string): AsyncIterable<Placed> {
  let rows: Placed[] = [];
  do {
    rows = await queries.rows<Placed>(sql`
      SELECT m.ordinal, m.id,
        octet_length(m.content) + CASE WHEN m.revision > 1 THEN coalesce((
          SELECT sum(octet_length(h.content)) FROM memory_history h
          WHERE h.namespace = m.namespace AND h.ordinal = m.ordinal), 0)::bigint ELSE 0 END AS bytes,
        CASE WHEN m.tier = 'semantic' THEN (
          SELECT min(l.source) FROM memory_source l WHERE l.namespace = m.namespace AND l.semantic = m.ordinal)
        END AS first,
        (SELECT l.semantic FROM memory_source l
         WHERE l.namespace = m.namespace AND l.source = m.ordinal AND l.semantic < m.ordinal AND NOT EXISTS (
           SELECT 1 FROM memory_source o
           WHERE o.namespace = l.namespace AND o.semantic = l.semantic AND o.source < l.source)) AS rooted
      FROM memory m WHERE m.namespace = ${namespace} AND m.ordinal > ${rows.at(-1)?.ordinal ?? 0}
      ORDER BY m.ordinal LIMIT ${PLACED_AT_ONCE}`);
    yield* rows;
  } while (rows.length === PLACED_AT_ONCE);
}

type KeptRow = MemoryRow & {
  evicted_at: number | null;
  revision: number;
  distilled_revision: number | null;
  formerly_derived_from: string[] | null;
  awaits_merging: boolean;
  awaits_distilling: boolean;
};

const KEPT = raw(`m.evicted_at, m.revision, m.distilled_revision,
  CASE WHEN m.tier = 'semantic' THEN (
    SELECT json_agg(s.id ORDER BY s.created_at, s.ordinal) FROM former_source l
    JOIN memory s ON s.namespace = l.namespace AND s.ordinal = l.source
    WHERE l.namespace = m.namespace AND l.semantic = m.ordinal) END AS formerly_derived_from,
  EXISTS (SELECT 1 FROM merge_candidate q WHERE q.namespace = m.namespace AND q.ordinal = m.ordinal) AS awaits_merging,
  EXISTS (SELECT 1 FROM distil_candidate q WHERE q.namespace = m.namespace AND q.ordinal = m.ordinal)
    AS awaits_distilling`);

function readKept(queries: Queries, namespace: string, ordinals: readonly number[]): Promise<KeptRow[]> {
  return queries.rows<KeptRow>(sql`
    SELECT ${memoryColumns(queries.dialect)}, ${KEPT}
    FROM unnest(${ordinals}::bigint[]) WITH ORDINALITY AS asked(ordinal, place)
    JOIN memory m ON m.namespace = ${namespace} AND m.ordinal = asked.ordinal ${WITH_ACCESS}
    ORDER BY asked.place`);
}

/** The earlier texts of memories by their ordinals: rows, since together they may be longer than one value can be. */
async function earlierTexts(
  queries: Queries,
  namespace: string,
  ordinals: readonly number[],
): Promise<Map<number, KeptMemory['history']>> {
  const texts = new Map<number, KeptMemory['history']>();
  if (ordinals.length === 0) return texts;
  let rows: (KeptMemory['history'][number] & { ordinal: number })[] = [];
  do {
    const { ordinal: last = 0, revision = 0 } = rows.at(-1) ?? {};
    rows = await queries.rows(sql`
      SELECT ordinal, revision, content, replaced_at AS "replacedAt" FROM memory_history
      WHERE namespace = ${namespace} AND ordinal = ANY(${ordinals}::bigint[])
        AND (ordinal, revision) > (${last}::bigint, ${revision}::integer)
      ORDER BY ordinal, revision LIMIT ${TEXTS_AT_ONCE}`);
    for (const { ordinal, ...text } of rows) {
      const before = texts.get(ordinal);
      if (before) before.push(text);
      else texts.set(ordinal, [text]);
    }
  } while (rows.length === TEXTS_AT_ONCE);
  return texts;
}

function toKept(row: KeptRow, history: KeptMemory['history'] = []): KeptMemory {
  const { ordinal: _, ...memory } = toMemory(row);
  return {
    ...memory,
    evictedAt: row.evicted_at,
    revision: row.revision,
    distilledRevision: row.distilled_revision,
    formerlyDerivedFrom: row.formerly_derived_from ?? [],
    history,
    awaits: awaitedBy(row),
  };
}

function awaitedBy({ awaits_merging, awaits_distilling }: KeptRow): Awaited[] {
  return [...(awaits_merging ? (['merging'] as const) : []), ...(awaits_distilling ? (['distilling'] as const) : [])];
}

async function* declinedGroups(queries: Queries, namespace: string): AsyncIterable<KeptRecord> {
  let rows: { digest: string }[] = [];
  do {
    rows = await queries.rows<{ digest: string }>(sql`
      SELECT upper(encode(digest, 'hex')) AS digest FROM declined_group
      WHERE namespace = ${namespace} AND digest > decode(${rows.at(-1)?.digest ?? ''}, 'hex')
      ORDER BY declined_group.digest LIMIT ${DECLINED_AT_ONCE}`);
    for (const { digest } of rows) yield { declinedGroup: digest };
  } while (rows.length === DECLINED_AT_ONCE);
}
