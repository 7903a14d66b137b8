import type { Metadata } from '@memoryd/contract';
import { DEFAULTS } from '@memoryd/contract/limits';
import { NO_SPEAKER } from '../../ports/storage-search.ts';
import {
  type Digest,
  getModel,
  getOrdinal,
  getVectors,
  isWhole,
  numbered,
  packEntry,
  withVectors,
} from '../../recall-index/entry.ts';
import { packStates } from '../../recall-index/token-states.ts';
import { AGENT_LABEL, getAttributes, SESSION_LABEL, SOURCE_LABEL, SPEAKER_LABEL, USER_LABEL } from '../attributes.ts';
import { DamagedDatabase, fromJson } from '../damage.ts';
import { labelDigest, namespaceDigest } from '../digests.ts';
import { getWords, type Recallable } from '../recall-words.ts';
import type { RecallEntry } from '../sql/queries.ts';
import { type Connection, modelInUse, sql } from './connection.ts';

/**
 * The entry of a memory, without vectors.
 *
 * @param revision the change that it comes with; 0 where nothing changes
 */
export function getEntry(memory: Recallable, ordinal: number, revision = 0): Buffer {
  const { namespace, userId, agentId, sessionId } = memory;
  const { frequencies, length, speaker, speakerTerms, marks } = getWords(memory);
  const label = (name: string, value: string) => labelDigest(namespace, name, value);
  const labels = [
    label(USER_LABEL, userId),
    label(AGENT_LABEL, agentId),
    label(SOURCE_LABEL, memory.source),
    ...Array.from(getAttributes(memory.tags, memory.metadata), ([name, value]) => label(name, value)),
    ...(sessionId === null ? [] : [label(SESSION_LABEL, sessionId)]),
    ...speakerTerms.map((term) => label(SPEAKER_LABEL, term)),
  ];
  return packEntry({
    ordinal,
    createdAt: memory.createdAt,
    namespace: namespaceDigest(namespace),
    session: getSession(memory, speaker),
    revision,
    length,
    frequencies,
    labels: [...new Set(labels)],
    speaker,
    marks: sessionId === DEFAULTS.sessionId ? marks | NO_SESSION_MARK : marks,
    storedAt: memory.storedAt,
    importance: memory.importance,
  });
}

/** In an entry's marks beside those of its text: the memory was given no session. */
export const NO_SESSION_MARK = 1 << 15;

/** The session of one user; 0 is none. What was given none may be a conversation all the same, where it names who speaks. */
function getSession({ namespace, userId, sessionId }: Recallable, speaker: number): Digest {
  if (sessionId === null || (sessionId === DEFAULTS.sessionId && speaker === NO_SPEAKER)) return 0;
  return labelDigest(namespace, SESSION_LABEL, userId === '' ? sessionId : `${userId}\0${sessionId}`);
}

/** See `RecallWriter.enterNew`. */
export function enterNew(connection: Connection, memories: readonly RecallEntry[]): void {
  for (const { entry, ...memory } of memories) {
    const made = entry
      ? numbered(Buffer.from(entry.buffer, entry.byteOffset, entry.length), memory.ordinal)
      : undefined;
    writeEntry(connection, memory.ordinal, made ?? getEntry(memory, memory.ordinal));
  }
  awaitVectors(connection, memories);
}

/** See `RecallWriter.enter`. */
export function enterRecall(connection: Connection, ordinal: number): void {
  const memory = recallable(connection, ordinal);
  writeEntry(connection, ordinal, getEntry(memory, ordinal, noteChange(connection, ordinal)));
  dropStates(connection, ordinal);
  awaitVectors(connection, [{ ordinal, namespace: memory.namespace }]);
}

/** Lets filters find a memory by the labels that it has now, if recall finds it at all. */
export function relabel(connection: Connection, ordinal: number): void {
  const entry = readEntry(connection, ordinal);
  if (!entry) return;
  const labelled = freshEntry(connection, ordinal, noteChange(connection, ordinal));
  writeEntry(connection, ordinal, withVectors(labelled, getModel(entry), getVectors(entry)));
}

/** Takes a memory, its words, its vectors and its states out of recall. */
export function leaveRecall(connection: Connection, namespace: string, ordinal: number): void {
  const { changes } = sql(connection, 'DELETE FROM recall_entry WHERE ordinal = ?').run(ordinal);
  if (changes > 0) noteChange(connection, ordinal);
  dropStates(connection, ordinal);
  for (const queue of ['merge_candidate', 'distil_candidate']) {
    sql(connection, `DELETE FROM ${queue} WHERE namespace = ? AND ordinal = ?`).run(namespace, ordinal);
  }
  sql(connection, 'DELETE FROM pending_embedding WHERE ordinal = ?').run(ordinal);
}

function dropStates(connection: Connection, ordinal: number): void {
  sql(connection, 'DELETE FROM token_states WHERE ordinal = ?').run(ordinal);
}

/** Keeps the states that a model made of a memory's tokens in place of those that it has. */
export function writeStates(
  connection: Connection,
  ordinal: number,
  model: number,
  states: readonly Int8Array[] | undefined,
): void {
  if (!states) {
    dropStates(connection, ordinal);
    return;
  }
  sql(connection, 'INSERT OR REPLACE INTO token_states (ordinal, model, states) VALUES (?, ?, ?)').run(
    ordinal,
    model,
    packStates(states),
  );
}

/** The entry of a memory, if recall finds it. Throws DamagedDatabase where it has changed. */
export function readEntry(connection: Connection, ordinal: number): Buffer | undefined {
  const entry = entryInRow(connection, ordinal);
  return entry === undefined ? undefined : whole(ordinal, entry);
}

function entryInRow(connection: Connection, ordinal: number): unknown {
  return sql(connection, 'SELECT entry FROM recall_entry WHERE ordinal = ?').pluck().get(ordinal);
}

/** The entry that a memory's row holds. Throws DamagedDatabase where it is none as it was made for that memory. */
export function whole(ordinal: number, entry: unknown): Buffer {
  if (isWhole(entry) && getOrdinal(entry) === ordinal) return entry;
  throw changed(ordinal);
}

function changed(ordinal: number): DamagedDatabase {
  return new DamagedDatabase(`what recall knows of memory ${ordinal} has changed`);
}

/**
 * Entries that are read at once. They come as one blob: to make one of JavaScript takes longer than to read an entry, so
 * a million come in half a second, and one by one in two.
 */
const READ_AT_ONCE = 128;

/** Longer ones, which long texts make, come by themselves, so that a blob stays below 8 MiB. */
const LONG_BYTES = 64 * 1024;

/** What of an entry may stand in a blob with others; an entry of another type is a damaged one. */
const IS_SHORT = `typeof(entry) = 'blob' AND octet_length(entry) <= ${LONG_BYTES}`;

/** All entries in order of their memories. Throws DamagedDatabase at one that is none as it was made, or out of order. */
export function* wholeEntries(connection: Connection): Iterable<Buffer> {
  const next = sql(
    connection,
    `SELECT CAST(group_concat(entry, '') FILTER (WHERE ${IS_SHORT}) AS BLOB),
       json_group_array(json_array(ordinal, iif(${IS_SHORT}, octet_length(entry), NULL)))
     FROM (SELECT ordinal, entry FROM recall_entry WHERE ordinal > ? ORDER BY ordinal LIMIT ?)`,
  ).raw();
  let last = 0;
  for (;;) {
    const [short, placed] = next.get(last, READ_AT_ONCE) as [Buffer | null, string];
    const places: [ordinal: number, bytes: number | null][] = JSON.parse(placed);
    if (places.length === 0) return;
    let at = 0;
    for (const [ordinal, bytes] of places) {
      // Where a page has changed, rows may come in any order, and without an end.
      if (ordinal <= last) throw changed(ordinal);
      yield whole(ordinal, bytes === null ? entryInRow(connection, ordinal) : short?.subarray(at, at + bytes));
      at += bytes ?? 0;
      last = ordinal;
    }
  }
}

export function writeEntry(connection: Connection, ordinal: number, entry: Buffer): void {
  sql(connection, 'INSERT OR REPLACE INTO recall_entry (ordinal, entry) VALUES (?, ?)').run(ordinal, entry);
}

/**
 * Tells indexes in memory, of every process, to look at a memory's entry again; of its state they are told by a trigger.
 * Answers a number that no other change has.
 */
export function noteChange(connection: Connection, ordinal: number): number {
  const { lastInsertRowid } = sql(connection, 'INSERT INTO recall_change (ordinal) VALUES (?)').run(ordinal);
  return Number(lastInsertRowid);
}

function awaitVectors(connection: Connection, memories: readonly Pick<RecallEntry, 'ordinal' | 'namespace'>[]): void {
  if (!modelInUse(connection)) return;
  const insert = sql(
    connection,
    // A memory that waits already to be embedded anew now waits for its first vectors.
    `INSERT INTO pending_embedding (ordinal, namespace, anew) VALUES (?, ?, 0) ON CONFLICT DO UPDATE SET anew = 0`,
  );
  for (const { ordinal, namespace } of memories) insert.run(ordinal, namespace);
}

/**
 * The entry that a memory's text and labels make now, without vectors.
 *
 * @param revision the change that it comes with; 0 where nothing changes
 */
export function freshEntry(connection: Connection, ordinal: number, revision = 0): Buffer {
  return getEntry(recallable(connection, ordinal), ordinal, revision);
}

function recallable(connection: Connection, ordinal: number): Recallable {
  const row = sql(
    connection,
    `SELECT namespace, user_id AS userId, agent_id AS agentId, session_id AS sessionId, source, created_at AS createdAt, stored_at AS storedAt,
       importance, tags, metadata, content
     FROM memory WHERE ordinal = ?`,
  ).get(ordinal) as Omit<Recallable, 'tags' | 'metadata'> & { tags: string; metadata: string };
  return { ...row, tags: fromJson<string[]>(row.tags), metadata: fromJson<Metadata>(row.metadata) };
}
