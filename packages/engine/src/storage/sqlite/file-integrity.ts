import { hasVectorsOf, isWhole, modelOf, saySame } from '../../recall-index/entry.ts';
import { attributeKey, attributesOfRow } from '../attributes.ts';
import { textDigest } from '../digests.ts';
import { IN_TIER } from '../sql/filters.ts';
import { type Connection, dimensionsByModel, modelInUse, sql } from './connection.ts';
import { isDamage } from './file.ts';
import { freshEntry } from './recall-entry.ts';

/** Most problems that are told. */
const MOST_PROBLEMS = 100;

/** One kind of thing that may be wrong. */
type Check = (connection: Connection) => Iterable<string>;

const CONTENT_CHECKS: readonly Check[] = [
  textProblems,
  attributeProblems,
  countProblems,
  referenceProblems,
  runProblems,
  entryProblems,
  pendingProblems,
  sourceProblems,
  usageProblems,
];

/**
 * What is wrong with the file: its pages, the texts of its memories, or what is derived from them: what recall knows
 * them by, counts, records of runs, and what was distilled.
 */
export function integrity(connection: Connection): string[] {
  const problems: string[] = [];
  try {
    connection.transaction(() => gatherAll([pagesOf, ...CONTENT_CHECKS], connection, problems))();
  } catch (error) {
    // SQLite does not commit where it has met a damaged page, though nothing was written.
    if (!isDamage(error) || problems.length === 0) throw error;
  }
  return problems;
}

/** What is wrong with the pages alone. */
export function pageProblems(connection: Connection): string[] {
  return gatherAll([pagesOf], connection);
}

/** What is wrong with what the pages hold. */
export function contentProblems(connection: Connection): string[] {
  return gatherAll(CONTENT_CHECKS, connection);
}

function gatherAll(checks: readonly Check[], connection: Connection, problems: string[] = []): string[] {
  for (const check of checks) gather(readable(check, connection), problems);
  return problems;
}

function gather(found: Iterable<string>, problems: string[]): void {
  for (const problem of found) {
    if (problems.length === MOST_PROBLEMS) return;
    problems.push(problem);
  }
}

/** The problems that a check finds; what it cannot read is one, and its last. */
function* readable(check: Check, connection: Connection): Iterable<string> {
  try {
    yield* check(connection);
  } catch (error) {
    if (!isDamage(error)) throw error;
    yield `not everything could be looked at: ${error.message}`;
  }
}

function pagesOf(connection: Connection): string[] {
  const found = connection.pragma('integrity_check(10)') as { integrity_check: string }[];
  // One message may have several lines, the first of which names the database.
  const lines = found.flatMap((row) => row.integrity_check.split('\n'));
  return lines.filter((line) => line !== 'ok' && line !== '*** in database main ***');
}

function* textProblems(connection: Connection): Iterable<string> {
  const rows = sql(connection, 'SELECT ordinal, content, text_digest FROM memory').raw().iterate();
  for (const [ordinal, content, digest] of rows as Iterable<[number, unknown, unknown]>) {
    const isAsStored = typeof content === 'string' && Buffer.isBuffer(digest) && textDigest(content).equals(digest);
    if (!isAsStored) yield `memory ${ordinal} has another text than it was given`;
  }
}

function* attributeProblems(connection: Connection): Iterable<string> {
  const rows = sql(connection, 'SELECT ordinal, namespace, tags, metadata FROM memory').raw().iterate();
  const find = 'SELECT 1 FROM attribute WHERE namespace = ? AND name = ? AND value = ? AND ordinal = ?';
  const has = sql(connection, find).pluck();
  let expected = 0;
  for (const [ordinal, namespace, tags, metadata] of rows as Iterable<[number, string, string, string]>) {
    const attributes = attributesOfRow({ tags, metadata });
    if (!attributes) yield `memory ${ordinal} has tags or metadata that cannot be read`;
    for (const [name, value] of attributes ?? []) {
      expected++;
      if (has.get(namespace, attributeKey(name), attributeKey(value), ordinal) === undefined)
        yield `memory ${ordinal} is not found by its ${name}`;
    }
  }
  const kept = sql(connection, 'SELECT count(*) FROM attribute').pluck().get() as number;
  if (kept > expected) yield `filters know ${kept} tags and metadata fields, where memories have ${expected}`;
}

function countProblems(connection: Connection): string[] {
  return sql(
    connection,
    `SELECT 'namespace ' || namespace || ' counts ' || sum(kept) || ' ' || tier || ' memories and has ' || sum(held)
     FROM (SELECT namespace, tier, count AS kept, 0 AS held FROM tier_count
           UNION ALL SELECT namespace, tier, 0, count(*) FROM memory m WHERE ${IN_TIER} GROUP BY namespace, tier)
     GROUP BY namespace, tier HAVING sum(kept) <> sum(held)`,
  )
    .pluck()
    .all() as string[];
}

function referenceProblems(connection: Connection): string[] {
  return sql(
    connection,
    `SELECT 'memory ' || ordinal || ' was merged into one that does not exist' FROM memory m
       WHERE merged_into IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM memory s WHERE s.namespace = m.namespace AND s.id = m.merged_into)
     UNION ALL
     SELECT 'memory ' || ordinal || ' is corrected by one that does not exist' FROM memory m
       WHERE superseded_by IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM memory s WHERE s.namespace = m.namespace AND s.id = m.superseded_by)
     UNION ALL
     SELECT DISTINCT 'memory ' || ordinal || ' has a history and does not exist' FROM memory_history
       WHERE ordinal NOT IN (SELECT ordinal FROM memory)
     UNION ALL
     SELECT 'memory ' || ordinal || ' has been given out and does not exist' FROM memory_access
       WHERE ordinal NOT IN (SELECT ordinal FROM memory)
     LIMIT ${MOST_PROBLEMS}`,
  )
    .pluck()
    .all() as string[];
}

function runProblems(connection: Connection): string[] {
  return sql(
    connection,
    `SELECT 'a change is recorded of run ' || run || ', which does not exist' FROM sleep_change
       WHERE run NOT IN (SELECT no FROM sleep_run)
     UNION ALL
     SELECT 'run ' || run || ' has a change of memory ' || ordinal || ', which does not exist' FROM sleep_change
       WHERE ordinal NOT IN (SELECT ordinal FROM memory)
     UNION ALL
     SELECT 'namespace ' || namespace || ' has ' || count(*) || ' unfinished runs' FROM sleep_run
       WHERE state IN ('running', 'undoing') GROUP BY namespace HAVING count(*) > 1
     LIMIT ${MOST_PROBLEMS}`,
  )
    .pluck()
    .all() as string[];
}

function* entryProblems(connection: Connection): Iterable<string> {
  const rows = sql(
    connection,
    `SELECT ordinal, entry, (SELECT ${IN_TIER} FROM memory m WHERE m.ordinal = e.ordinal) AS isInTier FROM recall_entry e
     UNION ALL
     SELECT m.ordinal, NULL, 1 FROM memory m
     WHERE ${IN_TIER} AND NOT EXISTS (SELECT 1 FROM recall_entry e WHERE e.ordinal = m.ordinal)`,
  ).iterate() as Iterable<{ ordinal: number; entry: Buffer | null; isInTier: number | null }>;
  const dimensions = dimensionsByModel(connection);
  for (const { ordinal, entry, isInTier } of rows) {
    if (entry === null) yield `memory ${ordinal} cannot be recalled`;
    else if (isInTier !== 1) yield `memory ${ordinal} can be recalled and should not`;
    else if (!isWhole(entry)) yield `what recall knows of memory ${ordinal} has changed`;
    else if (!saysWhatRowSays(connection, ordinal, entry)) yield `memory ${ordinal} is recalled by another text`;
    else if (!hasVectorsOf(entry, dimensions.get(modelOf(entry)) ?? 0)) {
      yield `memory ${ordinal} has vectors that its model cannot have made`;
    }
  }
}

function saysWhatRowSays(connection: Connection, ordinal: number, entry: Buffer): boolean {
  try {
    return saySame(entry, freshEntry(connection, ordinal));
  } catch (error) {
    if (isDamage(error)) return false;
    throw error;
  }
}

/** Memories that recall finds by words alone, and that nobody is to give vectors; or the reverse. */
function* pendingProblems(connection: Connection): Iterable<string> {
  const model = modelInUse(connection);
  const rows = sql(
    connection,
    `SELECT ordinal, e.entry, p.ordinal IS NOT NULL AS waits FROM recall_entry e LEFT JOIN pending_embedding p USING (ordinal)
     UNION ALL
     SELECT ordinal, NULL, 1 FROM pending_embedding WHERE ordinal NOT IN (SELECT ordinal FROM recall_entry)`,
  ).iterate() as Iterable<{ ordinal: number; entry: Buffer | null; waits: number }>;
  for (const { ordinal, entry, waits } of rows) {
    if (entry === null) yield `memory ${ordinal} waits for vectors and cannot be recalled`;
    else if (model && waits === 0 && isWhole(entry) && modelOf(entry) !== model.number) {
      yield `memory ${ordinal} has no vectors and waits for none`;
    }
  }
}

function* sourceProblems(connection: Connection): Iterable<string> {
  const links = sql(
    connection,
    `SELECT l.semantic, l.source FROM memory_source l
     LEFT JOIN memory m ON m.ordinal = l.semantic AND m.tier = 'semantic'
     LEFT JOIN memory s ON s.ordinal = l.source AND s.tier <> 'semantic' AND s.namespace = m.namespace
     WHERE m.ordinal IS NULL OR s.ordinal IS NULL`,
  ).iterate() as Iterable<{ semantic: number; source: number }>;
  for (const { semantic, source } of links) yield `memory ${semantic} cannot have been distilled from memory ${source}`;
  const rootless = sql(
    connection,
    `SELECT m.ordinal FROM memory m INDEXED BY memory_unusual
     WHERE m.tier = 'semantic' AND m.revision IS m.distilled_revision
       AND NOT EXISTS (SELECT 1 FROM memory_source l WHERE l.semantic = m.ordinal)`,
  )
    .pluck()
    .iterate() as Iterable<number>;
  for (const ordinal of rootless) yield `memory ${ordinal} was distilled from nothing`;
  const waiting = sql(
    connection,
    `SELECT c.ordinal FROM distil_candidate c
     LEFT JOIN memory m ON m.ordinal = c.ordinal AND m.namespace = c.namespace AND m.tier <> 'semantic' AND ${IN_TIER}
     WHERE m.ordinal IS NULL`,
  )
    .pluck()
    .iterate() as Iterable<number>;
  for (const ordinal of waiting) yield `memory ${ordinal} waits to be distilled and should not`;
}

function* usageProblems(connection: Connection): Iterable<string> {
  const wrong = sql(
    connection,
    `WITH counted AS (
       SELECT namespace, sum(tier <> 'semantic') AS memories,
         sum((revision > coalesce(distilled_revision, 0)) * octet_length(content)) + coalesce((
           SELECT sum(octet_length(h.content)) FROM memory n JOIN memory_history h USING (ordinal)
           WHERE n.namespace = m.namespace AND h.revision > coalesce(n.distilled_revision, 0)), 0) AS bytes
       FROM memory m GROUP BY namespace)
     SELECT namespace FROM counted WHERE (namespace, memories, bytes) NOT IN (SELECT namespace, memories, bytes FROM namespace_usage)
     UNION
     SELECT namespace FROM namespace_usage WHERE (memories <> 0 OR bytes <> 0) AND namespace NOT IN (SELECT namespace FROM counted)`,
  )
    .pluck()
    .iterate() as Iterable<string>;
  for (const namespace of wrong) yield `namespace ${namespace} is not counted as it is`;
}
