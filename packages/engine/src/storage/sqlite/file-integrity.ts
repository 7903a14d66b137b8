import { getModel, hasVectors, isWhole, saySame } from '../../recall-index/entry.ts';
import { areWhole } from '../../recall-index/token-states.ts';
import { attributeKey, attributesOfRow } from '../attributes.ts';
import { textDigest } from '../digests.ts';
import { IN_TIER } from '../sql/filters.ts';
import { MAX_PROBLEMS, PROBLEMS } from '../sql/integrity.ts';
import { type Connection, dimensionsByModel, modelInUse, sql } from './connection.ts';
import { isDamage } from './file.ts';
import { freshEntry } from './recall-entry.ts';

/** One kind of thing that may be wrong. */
type Check = (connection: Connection) => Iterable<string>;

const CONTENT_CHECKS: readonly Check[] = [
  textProblems,
  attributeProblems,
  ...PROBLEMS.map((text) => (connection: Connection) => problemsBy(connection, text)),
  entryProblems,
  pendingProblems,
  stateProblems,
  candidateProblems,
];

/**
 * What is wrong with the file: its pages, the texts of its memories, or what is derived from them: what recall knows
 * them by, counts, records of runs, and what was distilled.
 */
export function integrity(connection: Connection): string[] {
  const problems: string[] = [];
  try {
    connection.transaction(() => gatherAll([getPages, ...CONTENT_CHECKS], connection, problems))();
  } catch (error) {
    // SQLite does not commit where it has met a damaged page, though nothing was written.
    if (!isDamage(error) || problems.length === 0) throw error;
  }
  return problems;
}

/** What is wrong with the pages alone. */
export function pageProblems(connection: Connection): string[] {
  return gatherAll([getPages], connection);
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
    if (problems.length === MAX_PROBLEMS) return;
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

function getPages(connection: Connection): string[] {
  const found = connection.pragma('integrity_check(10)') as { integrity_check: string }[];
  // One message may have several lines, the first of which names the database.
  const lines = found.flatMap((row) => row.integrity_check.split('\n'));
  return lines.filter((line) => line !== 'ok' && line !== '*** in database main ***');
}

function problemsBy(connection: Connection, text: string): Iterable<string> {
  return sql(connection, text).pluck().iterate() as Iterable<string>;
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
    else if (!hasVectors(entry, dimensions.get(getModel(entry)) ?? 0)) {
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
    else if (model && waits === 0 && isWhole(entry) && getModel(entry) !== model.number) {
      yield `memory ${ordinal} has no vectors and waits for none`;
    }
  }
}

function* stateProblems(connection: Connection): Iterable<string> {
  const kept = sql(connection, 'SELECT ordinal, states FROM token_states').raw().iterate() as Iterable<
    [number, Buffer]
  >;
  for (const [ordinal, states] of kept) {
    if (!areWhole(states)) yield `memory ${ordinal} has states of tokens that have changed`;
  }
  const left = sql(
    connection,
    'SELECT ordinal FROM token_states WHERE ordinal NOT IN (SELECT ordinal FROM recall_entry)',
  )
    .pluck()
    .iterate() as Iterable<number>;
  for (const ordinal of left) yield `memory ${ordinal} has states of tokens and should not`;
}

function* candidateProblems(connection: Connection): Iterable<string> {
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
