import type { Awaited, KeptMemory, KeptRecord } from '../../../ports/storage-kept.ts';
import { fromJson } from '../../damage.ts';
import { toLine } from '../../kept-line.ts';
import { type MemoryRow, toMemory } from '../../memory-row.ts';
import { type Connection, sql } from '../connection.ts';
import { MEMORY_COLUMNS, WITH_ACCESS } from '../row.ts';

type KeptRow = MemoryRow & {
  evicted_at: number | null;
  revision: number;
  distilled_revision: number | null;
  formerly_derived_from: string;
  awaits_merging: number;
  awaits_distilling: number;
};

const KEPT = `SELECT ${MEMORY_COLUMNS}, m.evicted_at, m.revision, m.distilled_revision,
  CASE WHEN m.tier = 'semantic' THEN (
    SELECT json_group_array(s.id ORDER BY s.created_at, s.ordinal)
    FROM former_source l CROSS JOIN memory s ON s.ordinal = l.source WHERE l.semantic = m.ordinal
  ) ELSE '[]' END AS formerly_derived_from,
  EXISTS (SELECT 1 FROM merge_candidate q WHERE q.namespace = m.namespace AND q.ordinal = m.ordinal) AS awaits_merging,
  EXISTS (SELECT 1 FROM distil_candidate q WHERE q.namespace = m.namespace AND q.ordinal = m.ordinal) AS awaits_distilling`;

/** The records of `Storage.kept`, as JSON without line ends. To be called inside a transaction. */
export function* keptLines(connection: Connection, namespace: string): Iterable<string> {
  for (const record of keptRecords(connection, namespace)) yield toLine(record);
}

function* keptRecords(connection: Connection, namespace: string): Iterable<KeptRecord> {
  for (const row of inOrderOfArrival(connection, namespace)) {
    const { first } = rootsOf(connection, row.ordinal);
    // Such a memory got all its sources after it was made; it comes with the first of them.
    if (first !== null && first > row.ordinal) continue;
    yield { memory: toKept(connection, row) };
    for (const later of rootedIn(connection, row.ordinal)) yield { memory: toKept(connection, later) };
  }
  const declined = sql(
    connection,
    'SELECT hex(digest) FROM declined_group WHERE namespace = ? ORDER BY digest',
  ).pluck();
  for (const declinedGroup of declined.iterate(namespace) as Iterable<string>) yield { declinedGroup };
}

// The numbers alone first: with all columns, SQLite would sort the texts, and keep them in a file meanwhile.
function* inOrderOfArrival(connection: Connection, namespace: string): Iterable<KeptRow> {
  const ordinals = sql(
    connection,
    'SELECT ordinal FROM memory INDEXED BY memory_by_tier WHERE namespace = ? ORDER BY ordinal',
  )
    .pluck()
    .all(namespace) as number[];
  const read = sql(connection, `${KEPT} FROM memory m ${WITH_ACCESS} WHERE m.ordinal = ?`);
  for (const ordinal of ordinals) yield read.get(ordinal) as KeptRow;
}

/** The first source of a semantic memory; null for others. */
function rootsOf(connection: Connection, semantic: number): { first: number | null } {
  return sql(connection, 'SELECT min(source) AS first FROM memory_source WHERE semantic = ?').get(semantic) as {
    first: number | null;
  };
}

/** The semantic memory before a memory that has it as its first source. */
function rootedIn(connection: Connection, source: number): KeptRow[] {
  return sql(
    connection,
    `${KEPT} FROM memory_source r CROSS JOIN memory m ON m.ordinal = r.semantic ${WITH_ACCESS}
     WHERE r.source = @source AND r.semantic < @source
       AND NOT EXISTS (SELECT 1 FROM memory_source o WHERE o.semantic = r.semantic AND o.source < @source)`,
  ).all({ source }) as KeptRow[];
}

function toKept(connection: Connection, row: KeptRow): KeptMemory {
  const { ordinal, ...memory } = toMemory(row);
  return {
    ...memory,
    evictedAt: row.evicted_at,
    revision: row.revision,
    distilledRevision: row.distilled_revision,
    formerlyDerivedFrom: fromJson<string[]>(row.formerly_derived_from),
    history: row.revision > 1 ? earlierTexts(connection, ordinal) : [],
    awaits: awaitedBy(row),
  };
}

function earlierTexts(connection: Connection, ordinal: number): KeptMemory['history'] {
  return sql(
    connection,
    `SELECT revision, content, replaced_at AS replacedAt FROM memory_history WHERE ordinal = ? ORDER BY revision`,
  ).all(ordinal) as KeptMemory['history'];
}

function awaitedBy({ awaits_merging, awaits_distilling }: KeptRow): Awaited[] {
  return [
    ...(awaits_merging !== 0 ? (['merging'] as const) : []),
    ...(awaits_distilling !== 0 ? (['distilling'] as const) : []),
  ];
}
