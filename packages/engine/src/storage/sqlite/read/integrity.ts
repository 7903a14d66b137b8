import { saySame } from '../../../recall-index/entry.ts';
import { IN_TIER } from '../../conditions.ts';
import { type Connection, sql } from '../connection.ts';
import { freshEntry } from '../recall-entry.ts';

/** Most problems that are told. */
const MOST_PROBLEMS = 100;

/** What is wrong with the file: its pages, or what recall knows its memories by, or what they were distilled from. */
export function integrity(connection: Connection): string[] {
  const problems = [pageProblems, runProblems, entryProblems, sourceProblems].flatMap((find) => [...find(connection)]);
  return problems.slice(0, MOST_PROBLEMS);
}

function pageProblems(connection: Connection): string[] {
  const found = connection.pragma('integrity_check(10)') as { integrity_check: string }[];
  return found.map((row) => row.integrity_check).filter((message) => message !== 'ok');
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
  for (const { ordinal, entry, isInTier } of rows) {
    if (entry === null) yield `memory ${ordinal} cannot be recalled`;
    else if (isInTier !== 1) yield `memory ${ordinal} can be recalled and should not`;
    else if (!saySame(entry, freshEntry(connection, ordinal))) yield `memory ${ordinal} is recalled by another text`;
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
     WHERE m.tier = 'semantic' AND NOT EXISTS (SELECT 1 FROM memory_source l WHERE l.semantic = m.ordinal)`,
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
