import {
  attributeKey,
  attributesOfRow,
  CHANGED_UNTIL,
  COUNTED,
  count,
  fromJson,
  IN_TIER,
  type Queries,
  raw,
  sql,
  textDigest,
} from '@memoryd/engine/storage-kit';
import { entryOf } from './recall-entry.ts';

/** Most problems that are told. */
const MOST_PROBLEMS = 100;

/** Memories, and bytes of their texts, that are looked at between two looks at what is next. */
const CHECKED_AT_ONCE = 256;
const CHECKED_BYTES = 8 * 1024 * 1024;

/**
 * What is wrong with the texts of memories, or with what is derived from them: what recall and filters know them by,
 * counts, records of runs, and what was distilled. To be asked in a snapshot.
 */
export async function integrity(queries: Queries): Promise<string[]> {
  const between = await queries.rows<{ problem: string }>(sql`
    SELECT problem FROM (${raw(PROBLEMS.join(' UNION ALL '))}) AS all_problems LIMIT ${MOST_PROBLEMS}`);
  const problems = between.map(({ problem }) => problem);
  for await (const problem of memoryProblems(queries)) {
    if (problems.length >= MOST_PROBLEMS) break;
    problems.push(problem);
  }
  return problems;
}

const SAME = '(namespace, ordinal)';

const PROBLEMS = [
  `SELECT 'memory ' || m.ordinal || ' cannot be recalled' AS problem FROM memory m LEFT JOIN recall_entry e USING ${SAME}
   WHERE ${IN_TIER} AND e.ordinal IS NULL`,
  `SELECT 'memory ' || e.ordinal || ' can be recalled and should not' FROM recall_entry e
   LEFT JOIN memory m ON m.namespace = e.namespace AND m.ordinal = e.ordinal AND ${IN_TIER}
   WHERE m.ordinal IS NULL`,
  `SELECT 'memory ' || coalesce(p.ordinal, e.ordinal) || ' is found by other words than its own'
   FROM (SELECT namespace, ordinal, length, unnest(terms) AS term, unnest(frequencies) AS frequency,
           tier = 'semantic' AS is_semantic
         FROM recall_entry JOIN memory USING (namespace, ordinal)) e
   FULL JOIN posting p USING (namespace, ordinal, length, term, frequency, is_semantic)
   WHERE p.ordinal IS NULL OR e.ordinal IS NULL`,
  `SELECT 'memory ' || v.ordinal || ' has vectors and should not' FROM memory_vector v
   LEFT JOIN recall_entry e USING (namespace, ordinal, model) WHERE e.ordinal IS NULL`,
  `SELECT 'memory ' || ordinal || ' has vectors that cannot be compared' FROM memory_vector v
   LEFT JOIN embedding_model ON no = model
   GROUP BY namespace, ordinal
   HAVING max(part) <> count(*) - 1 OR bool_or(vector_dims(embedding) IS DISTINCT FROM dimensions)`,
  `SELECT 'memory ' || e.ordinal || ' has no vectors and waits for none' FROM recall_entry e
   JOIN embedding_model ON in_use AND no <> e.model
   LEFT JOIN pending_embedding q USING (namespace, ordinal)
   WHERE q.ordinal IS NULL AND NOT EXISTS (
     SELECT 1 FROM property WHERE name = '${CHANGED_UNTIL}'
       AND (e.namespace, e.ordinal) > (value::json ->> 'namespace', (value::json ->> 'ordinal')::bigint))`,
  `SELECT 'memory ' || q.ordinal || ' waits for vectors and should not' FROM pending_embedding q
   LEFT JOIN recall_entry e USING ${SAME} WHERE e.ordinal IS NULL`,
  `SELECT 'memory ' || q.ordinal || ' waits to be merged and should not' FROM merge_candidate q
   LEFT JOIN recall_entry e USING ${SAME} WHERE e.ordinal IS NULL`,
  `SELECT 'memory ' || q.ordinal || ' waits to be distilled and should not' FROM distil_candidate q
   LEFT JOIN recall_entry e USING ${SAME}
   LEFT JOIN memory m USING ${SAME} WHERE e.ordinal IS NULL OR m.tier = 'semantic'`,
  `SELECT 'an attribute is kept of memory ' || a.ordinal || ', which does not exist' FROM attribute a
   LEFT JOIN memory m USING ${SAME} WHERE m.ordinal IS NULL`,
  `SELECT 'namespace ' || namespace || ' is said to have ' || coalesce(kept.count, 0) || ' ' || tier || ' memories and has '
     || coalesce(counted.count, 0)
   FROM (SELECT namespace, tier, sum(count) AS count FROM tier_count GROUP BY namespace, tier) kept
   FULL JOIN (SELECT namespace, tier, count(*) AS count FROM memory m WHERE ${IN_TIER} GROUP BY namespace, tier) counted
     USING (namespace, tier)
   WHERE coalesce(kept.count, 0) <> coalesce(counted.count, 0)`,
  `SELECT 'namespace ' || namespace || ' is not counted as it is'
   FROM (SELECT namespace, sum(memories) AS memories, sum(bytes) AS bytes FROM namespace_usage GROUP BY namespace) kept
   FULL JOIN (SELECT m.namespace, ${COUNTED.text} FROM memory m GROUP BY m.namespace) counted USING (namespace)
   WHERE coalesce(kept.memories, 0) <> coalesce(counted.memories, 0)
     OR coalesce(kept.bytes, 0) <> coalesce(counted.bytes, 0)`,
  `SELECT 'memory ' || m.ordinal || ' was merged into one that does not exist' FROM memory m
   LEFT JOIN memory s ON s.namespace = m.namespace AND s.id = m.merged_into
   WHERE m.merged_into IS NOT NULL AND s.ordinal IS NULL`,
  `SELECT 'memory ' || m.ordinal || ' is corrected by one that does not exist' FROM memory m
   LEFT JOIN memory s ON s.namespace = m.namespace AND s.id = m.superseded_by
   WHERE m.superseded_by IS NOT NULL AND s.ordinal IS NULL`,
  `SELECT DISTINCT 'memory ' || h.ordinal || ' has a history and does not exist' FROM memory_history h
   LEFT JOIN memory m USING ${SAME} WHERE m.ordinal IS NULL`,
  `SELECT 'memory ' || a.ordinal || ' has been given out and does not exist' FROM memory_access a
   LEFT JOIN memory m USING ${SAME} WHERE m.ordinal IS NULL`,
  `SELECT 'a change is recorded of run ' || c.run || ', which does not exist' FROM sleep_change c
   LEFT JOIN sleep_run r ON r.namespace = c.namespace AND r.no = c.run WHERE r.no IS NULL`,
  `SELECT 'run ' || c.run || ' has a change of memory ' || c.ordinal || ', which does not exist' FROM sleep_change c
   LEFT JOIN memory m USING ${SAME} WHERE m.ordinal IS NULL`,
  `SELECT 'namespace ' || namespace || ' has ' || count(*) || ' unfinished runs' FROM sleep_run
   WHERE state IN ('running', 'undoing') GROUP BY namespace HAVING count(*) > 1`,
  `SELECT 'memory ' || l.semantic || ' cannot have been distilled from memory ' || l.source FROM memory_source l
   LEFT JOIN memory m ON m.namespace = l.namespace AND m.ordinal = l.semantic AND m.tier = 'semantic'
   LEFT JOIN memory s ON s.namespace = l.namespace AND s.ordinal = l.source AND s.tier <> 'semantic'
   WHERE m.ordinal IS NULL OR s.ordinal IS NULL`,
  `SELECT 'memory ' || m.ordinal || ' was distilled from nothing' FROM memory m
   LEFT JOIN memory_source l ON l.namespace = m.namespace AND l.semantic = m.ordinal
   WHERE m.tier = 'semantic' AND l.source IS NULL AND m.revision IS NOT DISTINCT FROM m.distilled_revision`,
];

interface Row {
  namespace: string;
  ordinal: number;
  tier: 'working' | 'episodic' | 'semantic';
  content: string;
  digest: string;
  tags: string;
  metadata: string;
  entry: ReturnType<typeof entryOf> | null;
}

async function* memoryProblems(queries: Queries): AsyncIterable<string> {
  let expected = 0;
  for await (const rows of allRows(queries)) {
    for (const row of rows) yield* rowProblems(row);
    const attributes = rows.flatMap(attributesIn);
    expected += attributes.length;
    yield* missingAttributes(queries, attributes);
  }
  const kept = await count(queries, sql`attribute`);
  if (kept > expected) {
    yield `filters know ${kept} tags and metadata fields, where memories have ${expected}`;
  }
}

async function* allRows(queries: Queries): AsyncIterable<Row[]> {
  let rows: Row[] = [];
  do {
    const { namespace = '', ordinal = 0 } = rows.at(-1) ?? {};
    rows = await queries.rows<Row>(sql`
      WITH sized AS (
        SELECT namespace, ordinal, sum(octet_length(content)) OVER (
          ORDER BY namespace, ordinal ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
        FROM (
          SELECT * FROM memory WHERE (namespace, ordinal) > (${namespace}, ${ordinal}::bigint)
          ORDER BY namespace, ordinal LIMIT ${CHECKED_AT_ONCE}) AS next)
      SELECT namespace, ordinal, m.tier, m.content, encode(m.text_digest, 'hex') AS digest, m.tags, m.metadata,
        CASE WHEN e.ordinal IS NOT NULL THEN json_build_object(
          'namespace', namespace, 'ordinal', ordinal, 'length', e.length, 'speaker', e.speaker, 'marks', e.marks,
          'terms', e.terms, 'frequencies', e.frequencies, 'speaker_terms', e.speaker_terms) END AS entry
      FROM sized JOIN memory m USING (namespace, ordinal) LEFT JOIN recall_entry e USING (namespace, ordinal)
      WHERE coalesce(sized.before, 0) <= ${CHECKED_BYTES} ORDER BY namespace, ordinal`);
    yield rows;
  } while (rows.length > 0);
}

function* rowProblems(row: Row): Iterable<string> {
  if (textDigest(row.content).toString('hex') !== row.digest) {
    yield `memory ${row.ordinal} has another text than it was given`;
  }
  if (!attributesOfRow(row)) {
    yield `memory ${row.ordinal} has tags or metadata that cannot be read`;
  } else if (row.entry && JSON.stringify(entryIn(row)) !== JSON.stringify(row.entry)) {
    yield `memory ${row.ordinal} is recalled by another text`;
  }
}

function entryIn(row: Row): ReturnType<typeof entryOf> {
  return entryOf({ ...row, tags: fromJson<string[]>(row.tags) });
}

interface Attribute {
  namespace: string;
  ordinal: number;
  name: string;
  value: string;
}

function attributesIn(row: Row): Attribute[] {
  const { namespace, ordinal } = row;
  return (attributesOfRow(row) ?? []).map(([name, value]) => ({ namespace, ordinal, name, value }));
}

async function* missingAttributes(queries: Queries, attributes: readonly Attribute[]): AsyncIterable<string> {
  const missing = await queries.rows<{ ordinal: number; name: string }>(sql`
    SELECT one.ordinal, one.name
    FROM unnest(${attributes.map((one) => one.namespace)}::text[], ${attributes.map((one) => one.ordinal)}::bigint[],
      ${attributes.map((one) => one.name)}::text[], ${attributes.map((one) => attributeKey(one.name))}::text[],
      ${attributes.map((one) => attributeKey(one.value))}::text[]) AS one(namespace, ordinal, name, key, value)
    LEFT JOIN attribute a
      ON a.namespace = one.namespace AND a.name = one.key AND a.value = one.value AND a.ordinal = one.ordinal
    WHERE a.ordinal IS NULL`);
  for (const { ordinal, name } of missing) yield `memory ${ordinal} is not found by its ${name}`;
}
