import { IN_TIER } from '../../conditions.ts';
import type { Queries } from '../connection.ts';
import { entryOf } from '../recall-entry.ts';
import { raw, sql } from '../sql.ts';

/** Most problems that are told. */
const MOST_PROBLEMS = 100;

/** Memories whose entries are held against their texts between two looks at what is next. */
const CHECKED_AT_ONCE = 256;

/** What is wrong between the tables: what recall knows its memories by, what is counted, what they were distilled from. */
export async function integrity(queries: Queries): Promise<string[]> {
  const between = await queries.rows<{ problem: string }>(sql`
    SELECT problem FROM (${raw(PROBLEMS.join(' UNION ALL '))}) AS all_problems LIMIT ${MOST_PROBLEMS}`);
  const problems = between.map(({ problem }) => problem);
  for await (const problem of entryProblems(queries)) {
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
   LEFT JOIN pending_embedding q USING (namespace, ordinal) WHERE q.ordinal IS NULL`,
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
   WHERE m.tier = 'semantic' AND l.source IS NULL`,
];

interface Row {
  namespace: string;
  ordinal: number;
  tier: 'working' | 'episodic' | 'semantic';
  content: string;
  entry: ReturnType<typeof entryOf>;
}

async function* entryProblems(queries: Queries): AsyncIterable<string> {
  let rows: Row[] = [];
  do {
    const { namespace = '', ordinal = 0 } = rows.at(-1) ?? {};
    rows = await queries.rows<Row>(sql`
      SELECT namespace, ordinal, m.tier, m.content, json_build_object(
        'namespace', namespace, 'ordinal', ordinal, 'length', e.length, 'speaker', e.speaker, 'marks', e.marks,
        'terms', e.terms, 'frequencies', e.frequencies, 'speaker_terms', e.speaker_terms) AS entry
      FROM recall_entry e JOIN memory m USING (namespace, ordinal)
      WHERE (namespace, ordinal) > (${namespace}, ${ordinal}::bigint)
      ORDER BY namespace, ordinal LIMIT ${CHECKED_AT_ONCE}`);
    for (const row of rows) {
      const isSame = JSON.stringify(entryOf(row)) === JSON.stringify(row.entry);
      if (!isSame) yield `memory ${row.ordinal} is recalled by another text`;
    }
  } while (rows.length === CHECKED_AT_ONCE);
}
