import {
  attributesOfRow,
  CHANGED_UNTIL,
  count,
  fromJson,
  IN_TIER,
  INTEGRITY,
  type Queries,
  raw,
  sql,
} from '@memoryd/core';
import { textDigest } from '@memoryd/search';
import { buildEntry } from './recall-entry.ts';

/** Maximum memories in one batch. */
const BATCH_ROWS = 256;

/** Bytes of texts above which a batch ends. The last text of a batch may exceed the limit. */
const BATCH_BYTES = 8 * 1024 * 1024;

/**
 * Returns at most `INTEGRITY.maxProblems` inconsistencies of memories and their derived data: index entries, attributes, counts,
 * records of runs, and semantic memories. Must run in a snapshot.
 */
export async function integrity(queries: Queries): Promise<string[]> {
  const found = await queries.rows<{ problem: string }>(sql`
    SELECT problem FROM (${raw([...OWN_PROBLEMS, ...INTEGRITY.statements].join(' UNION ALL '))}) AS all_problems LIMIT ${INTEGRITY.maxProblems}`);
  const problems = found.map(({ problem }) => problem);
  for await (const problem of findMemoryProblems(queries)) {
    if (problems.length >= INTEGRITY.maxProblems) break;
    problems.push(problem);
  }
  return problems;
}

const KEY = '(namespace, ordinal)';

/** Statements that find inconsistencies of index entries, attributes and queues, which SQLite stores differently. */
const OWN_PROBLEMS = [
  `SELECT 'memory ' || m.ordinal || ' has no index entry' AS problem FROM memory m LEFT JOIN recall_entry e USING ${KEY}
   WHERE ${IN_TIER} AND e.ordinal IS NULL`,
  `SELECT 'memory ' || e.ordinal || ' has an index entry but is not in a tier' FROM recall_entry e
   LEFT JOIN memory m ON m.namespace = e.namespace AND m.ordinal = e.ordinal AND ${IN_TIER}
   WHERE m.ordinal IS NULL`,
  `SELECT 'the postings of memory ' || coalesce(p.ordinal, e.ordinal) || ' do not match its index entry'
   FROM (SELECT namespace, ordinal, length, unnest(terms) AS term, unnest(frequencies) AS frequency,
           tier = 'semantic' AS is_semantic
         FROM recall_entry JOIN memory USING (namespace, ordinal)) e
   FULL JOIN posting p USING (namespace, ordinal, length, term, frequency, is_semantic)
   WHERE p.ordinal IS NULL OR e.ordinal IS NULL`,
  `SELECT 'memory ' || v.ordinal || ' has vectors but no index entry of their model' FROM memory_vector v
   LEFT JOIN recall_entry e USING (namespace, ordinal, model) WHERE e.ordinal IS NULL`,
  `SELECT 'memory ' || s.ordinal || ' has token states but no index entry' FROM token_states s
   LEFT JOIN recall_entry e USING ${KEY} WHERE e.ordinal IS NULL`,
  `SELECT 'memory ' || ordinal
     || CASE WHEN max(part) <> count(*) - 1 THEN ' has missing vectors'
          ELSE ' has vectors with the wrong dimensions' END
   FROM memory_vector v
   LEFT JOIN embedding_model ON no = model
   GROUP BY namespace, ordinal
   HAVING max(part) <> count(*) - 1 OR bool_or(vector_dims(embedding) IS DISTINCT FROM dimensions)`,
  `SELECT 'memory ' || e.ordinal || ' has no vectors and is not queued for embedding' FROM recall_entry e
   JOIN embedding_model ON in_use AND no <> e.model
   LEFT JOIN pending_embedding q USING (namespace, ordinal)
   WHERE q.ordinal IS NULL AND NOT EXISTS (
     SELECT 1 FROM property WHERE name = '${CHANGED_UNTIL}'
       AND (e.namespace, e.ordinal) > (value::json ->> 'namespace', (value::json ->> 'ordinal')::bigint))`,
  `SELECT 'memory ' || q.ordinal || ' is queued for embedding but has no index entry' FROM pending_embedding q
   LEFT JOIN recall_entry e USING ${KEY} WHERE e.ordinal IS NULL`,
  `SELECT 'memory ' || q.ordinal || ' is queued for merging but has no index entry' FROM merge_candidate q
   LEFT JOIN recall_entry e USING ${KEY} WHERE e.ordinal IS NULL`,
  `SELECT 'memory ' || a.ordinal || ' has an attribute row but no row' FROM attribute a
   LEFT JOIN memory m USING ${KEY} WHERE m.ordinal IS NULL`,
];

interface Row {
  namespace: string;
  ordinal: number;
  tier: 'working' | 'episodic' | 'semantic';
  content: string;
  digest: string;
  tags: string;
  metadata: string;
  externalId: string | null;
  entry: ReturnType<typeof buildEntry> | null;
}

async function* findMemoryProblems(queries: Queries): AsyncIterable<string> {
  let expected = 0;
  for await (const rows of readBatches(queries)) {
    for (const row of rows) yield* findRowProblems(row);
    const attributes = rows.flatMap(getAttributes);
    expected += attributes.length;
    yield* findMissingAttributes(queries, attributes);
  }
  const stored = await count(queries, sql`attribute`);
  if (stored > expected) {
    yield `there are ${stored} attribute rows, expected ${expected}`;
  }
}

async function* readBatches(queries: Queries): AsyncIterable<Row[]> {
  let rows: Row[] = [];
  do {
    const { namespace = '', ordinal = 0 } = rows.at(-1) ?? {};
    rows = await queries.rows<Row>(sql`
      WITH sized AS (
        SELECT namespace, ordinal, sum(octet_length(content)) OVER (
          ORDER BY namespace, ordinal ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
        FROM (
          SELECT * FROM memory WHERE (namespace, ordinal) > (${namespace}, ${ordinal}::bigint)
          ORDER BY namespace, ordinal LIMIT ${BATCH_ROWS}) AS next)
      SELECT namespace, ordinal, m.tier, m.content, encode(m.text_digest, 'hex') AS digest, m.tags, m.metadata,
        m.external_id AS "externalId",
        CASE WHEN e.ordinal IS NOT NULL THEN json_build_object(
          'namespace', namespace, 'ordinal', ordinal, 'length', e.length, 'speaker', e.speaker, 'marks', e.marks,
          'terms', e.terms, 'frequencies', e.frequencies, 'speaker_terms', e.speaker_terms) END AS entry
      FROM sized JOIN memory m USING (namespace, ordinal) LEFT JOIN recall_entry e USING (namespace, ordinal)
      WHERE coalesce(sized.before, 0) <= ${BATCH_BYTES} ORDER BY namespace, ordinal`);
    yield rows;
  } while (rows.length > 0);
}

function* findRowProblems(row: Row): Iterable<string> {
  if (textDigest(row.content).toString('hex') !== row.digest) {
    yield `the text of memory ${row.ordinal} does not match its checksum`;
  }
  if (!attributesOfRow(row)) {
    yield `memory ${row.ordinal} has invalid tags or metadata`;
  } else if (row.entry && JSON.stringify(buildRowEntry(row)) !== JSON.stringify(row.entry)) {
    yield `the index entry of memory ${row.ordinal} does not match its row`;
  }
}

function buildRowEntry(row: Row): ReturnType<typeof buildEntry> {
  return buildEntry({ ...row, tags: fromJson<string[]>(row.tags, 'the tags of memory', row.ordinal) });
}

interface Attribute extends StoredAttribute {
  namespace: string;
  ordinal: number;
}

type StoredAttribute = NonNullable<ReturnType<typeof attributesOfRow>>[number];

function getAttributes(row: Row): Attribute[] {
  const { namespace, ordinal } = row;
  return (attributesOfRow(row) ?? []).map((attribute) => ({ namespace, ordinal, ...attribute }));
}

async function* findMissingAttributes(queries: Queries, attributes: readonly Attribute[]): AsyncIterable<string> {
  const missing = await queries.rows<{ ordinal: number; name: string }>(sql`
    SELECT one.ordinal, one.name
    FROM unnest(${attributes.map((one) => one.namespace)}::text[], ${attributes.map((one) => one.ordinal)}::bigint[],
      ${attributes.map((one) => one.name)}::text[], ${attributes.map((one) => one.key)}::text[],
      ${attributes.map((one) => one.value)}::text[]) AS one(namespace, ordinal, name, key, value)
    LEFT JOIN attribute a
      ON a.namespace = one.namespace AND a.name = one.key AND a.value = one.value AND a.ordinal = one.ordinal
    WHERE a.ordinal IS NULL`);
  for (const { ordinal, name } of missing) yield `memory ${ordinal} has no attribute row for its ${name}`;
}
