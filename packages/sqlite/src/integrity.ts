import { attributesOfRow, IN_TIER, INTEGRITY } from '@memoryd/core';
import { areIntactStates, getModel, hasVectors, haveEqualContents, isWhole, textDigest } from '@memoryd/search';
import { type Connection, dimensionsByModel, modelInUse, sql } from './connection.ts';
import { isCorruption } from './file.ts';
import { rebuildEntry } from './recall-entry.ts';

/** Yields the problems of one kind. */
type Check = (connection: Connection) => Iterable<string>;

const CONTENT_CHECKS: readonly Check[] = [
  textProblems,
  attributeProblems,
  ...INTEGRITY.statements.map((text) => (connection: Connection) => problemsBy(connection, text)),
  entryProblems,
  pendingProblems,
  stateProblems,
];

/** Returns the problems of the pages and contents of a file as messages, at most `INTEGRITY.maxProblems`. */
export function integrity(connection: Connection): string[] {
  const problems: string[] = [];
  try {
    connection.transaction(() => runChecks([findPageProblems, ...CONTENT_CHECKS], connection, problems))();
  } catch (error) {
    // SQLite refuses to commit after reading a corrupted page, even though nothing was written.
    if (!isCorruption(error) || problems.length === 0) throw error;
  }
  return problems;
}

/** Returns the problems of the file's pages, without checks of the contents. */
export function pageProblems(connection: Connection): string[] {
  return runChecks([findPageProblems], connection);
}

/** Returns the problems of the file's contents, without checks of the pages. */
export function contentProblems(connection: Connection): string[] {
  return runChecks(CONTENT_CHECKS, connection);
}

function runChecks(checks: readonly Check[], connection: Connection, problems: string[] = []): string[] {
  for (const check of checks) addProblems(runCheck(check, connection), problems);
  return problems;
}

function addProblems(found: Iterable<string>, problems: string[]): void {
  for (const problem of found) {
    if (problems.length === INTEGRITY.maxProblems) return;
    problems.push(problem);
  }
}

/** Runs a check. If the check reads corrupt data and cannot continue, the last problem reports the early end. */
function* runCheck(check: Check, connection: Connection): Iterable<string> {
  try {
    yield* check(connection);
  } catch (error) {
    if (!isCorruption(error)) throw error;
    yield `a check stopped early: ${error.message}`;
  }
}

function findPageProblems(connection: Connection): string[] {
  // FTS5 checks the segments that it remembers from the last query of this connection, and reports the ones that other
  // connections have merged since as corrupt. A query makes it read them again.
  sql(connection, `SELECT rowid FROM word_index WHERE word_index MATCH 'x' LIMIT 1`).get();
  const found = connection.pragma('integrity_check(10)') as { integrity_check: string }[];
  // A message may have several lines. The first line names the database.
  const lines = found.flatMap((row) => row.integrity_check.split('\n'));
  return lines.filter((line) => line !== 'ok' && line !== '*** in database main ***');
}

function problemsBy(connection: Connection, text: string): Iterable<string> {
  return sql(connection, text).pluck().iterate() as Iterable<string>;
}

function* textProblems(connection: Connection): Iterable<string> {
  const rows = sql(connection, 'SELECT ordinal, content, text_digest FROM memory').raw().iterate();
  for (const [ordinal, content, digest] of rows as Iterable<[number, unknown, unknown]>) {
    const isIntact = typeof content === 'string' && Buffer.isBuffer(digest) && textDigest(content).equals(digest);
    if (!isIntact) yield `the text of memory ${ordinal} does not match its checksum`;
  }
}

type AttributeRow = Parameters<typeof attributesOfRow>[0] & { ordinal: number; namespace: string };

function* attributeProblems(connection: Connection): Iterable<string> {
  const rows = sql(
    connection,
    'SELECT ordinal, namespace, tags, metadata, external_id AS externalId FROM memory',
  ).iterate();
  const find = 'SELECT 1 FROM attribute WHERE namespace = ? AND name = ? AND value = ? AND ordinal = ?';
  const has = sql(connection, find).pluck();
  let expected = 0;
  for (const { ordinal, namespace, ...row } of rows as Iterable<AttributeRow>) {
    const attributes = attributesOfRow(row);
    if (!attributes) yield `memory ${ordinal} has invalid tags or metadata`;
    for (const { name, key, value } of attributes ?? []) {
      expected++;
      if (has.get(namespace, key, value, ordinal) === undefined)
        yield `memory ${ordinal} has no attribute row for its ${name}`;
    }
  }
  const actual = sql(connection, 'SELECT count(*) FROM attribute').pluck().get() as number;
  if (actual > expected) yield `there are ${actual} attribute rows, expected ${expected}`;
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
    if (entry === null) yield `memory ${ordinal} has no index entry`;
    else if (isInTier !== 1) yield `memory ${ordinal} has an index entry but is not in a tier`;
    else if (!isWhole(entry)) yield `the index entry of memory ${ordinal} is corrupted`;
    else if (!matchesRow(connection, ordinal, entry))
      yield `the index entry of memory ${ordinal} does not match its row`;
    else if (!hasVectors(entry, dimensions.get(getModel(entry)) ?? 0)) {
      yield `memory ${ordinal} has vectors with the wrong dimensions`;
    }
  }
}

function matchesRow(connection: Connection, ordinal: number, entry: Buffer): boolean {
  try {
    return haveEqualContents(entry, rebuildEntry(connection, ordinal));
  } catch (error) {
    if (isCorruption(error)) return false;
    throw error;
  }
}

/**
 * Finds index entries that the model in use has not embedded and that are not queued for embedding. Also finds queued
 * memories without an index entry.
 */
function* pendingProblems(connection: Connection): Iterable<string> {
  const model = modelInUse(connection);
  const rows = sql(
    connection,
    `SELECT ordinal, e.entry, p.ordinal IS NOT NULL AS waits FROM recall_entry e LEFT JOIN pending_embedding p USING (ordinal)
     UNION ALL
     SELECT ordinal, NULL, 1 FROM pending_embedding WHERE ordinal NOT IN (SELECT ordinal FROM recall_entry)`,
  ).iterate() as Iterable<{ ordinal: number; entry: Buffer | null; waits: number }>;
  for (const { ordinal, entry, waits } of rows) {
    if (entry === null) yield `memory ${ordinal} is queued for embedding but has no index entry`;
    else if (model && waits === 0 && isWhole(entry) && getModel(entry) !== model.number) {
      yield `memory ${ordinal} has no vectors and is not queued for embedding`;
    }
  }
}

function* stateProblems(connection: Connection): Iterable<string> {
  const stored = sql(connection, 'SELECT ordinal, states FROM token_states').raw().iterate() as Iterable<
    [number, Buffer]
  >;
  for (const [ordinal, states] of stored) {
    if (!areIntactStates(states)) yield `the token states of memory ${ordinal} are corrupted`;
  }
  const orphaned = sql(
    connection,
    'SELECT ordinal FROM token_states WHERE ordinal NOT IN (SELECT ordinal FROM recall_entry)',
  )
    .pluck()
    .iterate() as Iterable<number>;
  for (const ordinal of orphaned) yield `memory ${ordinal} has token states but no index entry`;
}
