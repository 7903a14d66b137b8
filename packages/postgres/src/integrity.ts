import {
  attributeKey,
  attributesOfRow,
  CHANGED_UNTIL,
  count,
  fromJson,
  IN_TIER,
  MAX_PROBLEMS,
  PROBLEMS,
  type Queries,
  raw,
  sql,
  textDigest,
} from '@memoryd/engine/storage-kit';
import { getEntry } from './recall-entry.ts';

/** Memories, and bytes of their texts, that are looked at between two looks at what is next. */
const CHECKED_AT_ONCE = 256;
const CHECKED_BYTES = 8 * 1024 * 1024;

/**
 * What is wrong with the texts of memories, or with what is derived from them: what recall and filters know them by,
 * counts, records of runs, and what was distilled. To be asked in a snapshot.
 */
export async function integrity(queries: Queries): Promise<string[]> {
  const between = await queries.rows<{ problem: string }>(sql`
    SELECT problem FROM (${raw([...OWN_PROBLEMS, ...PROBLEMS].join(' UNION ALL '))}) AS all_problems LIMIT ${MAX_PROBLEMS}`);
  const problems = between.map(({ problem }) => problem);
  for await (const problem of memoryProblems(queries)) {
    if (problems.length >= MAX_PROBLEMS) break;
    problems.push(problem);
  }
  return problems;
}

const SAME = '(namespace, ordinal)';

/** What recall and filters know memories by, and what waits: kept otherwise in a file. */
const OWN_PROBLEMS = [
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
  `SELECT 'memory ' || s.ordinal || ' has states of tokens and should not' FROM token_states s
   LEFT JOIN recall_entry e USING ${SAME} WHERE e.ordinal IS NULL`,
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
];

interface Row {
  namespace: string;
  ordinal: number;
  tier: 'working' | 'episodic' | 'semantic';
  content: string;
  digest: string;
  tags: string;
  metadata: string;
  entry: ReturnType<typeof getEntry> | null;
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

function entryIn(row: Row): ReturnType<typeof getEntry> {
  return getEntry({ ...row, tags: fromJson<string[]>(row.tags) });
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
