import type { Metadata } from '@memoryd/contract';
import { DEFAULTS } from '@memoryd/contract/limits';

import { CorruptDatabaseError, EMBEDDING_LIMITS, fromJson, type Transaction } from '@memoryd/core';
import {
  AGENT_LABEL,
  areIntactStates,
  type Digest,
  getAttributes,
  getModel,
  getOrdinal,
  getVectors,
  getWords,
  isWhole,
  labelDigest,
  NO_SPEAKER,
  namespaceDigest,
  numbered,
  packEntry,
  packStates,
  type Recallable,
  SESSION_LABEL,
  SOURCE_LABEL,
  SPEAKER_LABEL,
  USER_LABEL,
  withVectors,
} from '@memoryd/search';
import { type Connection, modelInUse, sql } from './connection.ts';

/**
 * Builds the index entry of a memory, without vectors.
 *
 * @param revision number of the logged change that the index entry results from; 0 for a new memory
 */
export function buildEntry(memory: Recallable, ordinal: number, revision = 0): Buffer {
  const { namespace, userId, agentId, sessionId } = memory;
  const { frequencies, length, speaker, speakerTerms, marks } = getWords(memory);
  const label = (name: string, value: string) => labelDigest(namespace, name, value);
  const labels = [
    label(USER_LABEL, userId),
    label(AGENT_LABEL, agentId),
    label(SOURCE_LABEL, memory.source),
    ...Array.from(getAttributes(memory), ([name, value]) => label(name, value)),
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

type RecallEntry = Parameters<Transaction['recall']['enterNew']>[0][number];

/** Bit in the marks of an index entry: the memory was stored without a session. */
export const NO_SESSION_MARK = 1 << 15;

/**
 * Returns the digest of the session of a memory; 0 if the memory belongs to no conversation. Memories stored without a
 * session form a conversation if they have a speaker.
 */
function getSession({ namespace, userId, sessionId }: Recallable, speaker: number): Digest {
  if (sessionId === null || (sessionId === DEFAULTS.sessionId && speaker === NO_SPEAKER)) return 0;
  return labelDigest(namespace, SESSION_LABEL, userId === '' ? sessionId : `${userId}\0${sessionId}`);
}

/** See `Transaction['recall'].enterNew`. */
export function enterNew(connection: Connection, memories: readonly RecallEntry[]): void {
  for (const { entry, ...memory } of memories) {
    const prebuilt = entry
      ? numbered(Buffer.from(entry.buffer, entry.byteOffset, entry.length), memory.ordinal)
      : undefined;
    writeEntry(connection, memory.ordinal, prebuilt ?? buildEntry(memory, memory.ordinal));
  }
  queueForEmbedding(connection, memories);
}

/** See `Transaction['recall'].enter`. */
export function addEntry(connection: Connection, ordinal: number): void {
  const memory = readRecallable(connection, ordinal);
  writeEntry(connection, ordinal, buildEntry(memory, ordinal, noteChange(connection, ordinal)));
  dropStates(connection, ordinal);
  queueForEmbedding(connection, [{ ...memory, ordinal }]);
}

/** Updates the labels in the index entry of a memory, if the memory has an index entry. */
export function relabel(connection: Connection, ordinal: number): void {
  const entry = readEntry(connection, ordinal);
  if (!entry) return;
  const labelled = rebuildEntry(connection, ordinal, noteChange(connection, ordinal));
  writeEntry(connection, ordinal, withVectors(labelled, getModel(entry), getVectors(entry)));
}

/** Removes the index entry and the token states of a memory, and removes the memory from all queues. */
export function removeEntry(connection: Connection, namespace: string, ordinal: number): void {
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

/** Replaces the token states of a memory, or removes the token states if `states` is undefined. */
export function writeStates(
  connection: Connection,
  ordinal: number,
  model: number,
  states: readonly Int8Array[] | undefined,
): void {
  if (states) replaceStates(connection, ordinal, model, packStates(states));
  else dropStates(connection, ordinal);
}

function replaceStates(connection: Connection, ordinal: number, model: number, packed: Buffer): void {
  sql(connection, 'INSERT OR REPLACE INTO token_states (ordinal, model, states) VALUES (?, ?, ?)').run(
    ordinal,
    model,
    packed,
  );
}

/** Appends the token states of further parts of a text. */
export function appendStates(
  connection: Connection,
  ordinal: number,
  model: number,
  states: readonly Int8Array[],
): void {
  const earlier = sql(connection, 'SELECT states FROM token_states WHERE ordinal = ? AND model = ?')
    .pluck()
    .get(ordinal, model) as Buffer | undefined;
  // A new checksum would hide the corruption.
  if (earlier && !areIntactStates(earlier)) {
    throw new CorruptDatabaseError(`the token states of memory ${ordinal} are corrupted`);
  }
  replaceStates(connection, ordinal, model, packStates(states, earlier));
}

/**
 * Returns the index entry of a memory, or undefined if the memory has no index entry. Throws CorruptDatabaseError if
 * the index entry is corrupted or belongs to another memory.
 */
export function readEntry(connection: Connection, ordinal: number): Buffer | undefined {
  const entry = readStoredEntry(connection, ordinal);
  return entry === undefined ? undefined : verifyEntry(ordinal, entry);
}

function readStoredEntry(connection: Connection, ordinal: number): unknown {
  return sql(connection, 'SELECT entry FROM recall_entry WHERE ordinal = ?').pluck().get(ordinal);
}

/**
 * Verifies and returns a stored index entry. Throws CorruptDatabaseError if the index entry is corrupted or belongs to
 * another memory.
 */
export function verifyEntry(ordinal: number, entry: unknown): Buffer {
  if (isWhole(entry) && getOrdinal(entry) === ordinal) return entry;
  throw corrupted(ordinal);
}

function corrupted(ordinal: number): CorruptDatabaseError {
  return new CorruptDatabaseError(`the index entry of memory ${ordinal} is corrupted`);
}

/**
 * Index entries read per query, as one blob. Creating a JavaScript buffer takes longer than reading an index entry:
 * reading a million index entries takes half a second in blobs of this size, and two seconds one by one.
 */
const READ_AT_ONCE = 128;

/**
 * Maximum bytes of an index entry in a shared blob, so that a blob is at most 8 MiB. Longer index entries are read
 * individually.
 */
const MAX_SHORT_BYTES = 64 * 1024;

/** Condition: the index entry fits into a shared blob. False for a value that is not a blob, which is corrupted. */
const IS_SHORT = `typeof(entry) = 'blob' AND octet_length(entry) <= ${MAX_SHORT_BYTES}`;

/**
 * Yields all index entries in order of ordinals. Throws CorruptDatabaseError at the first index entry that is corrupted
 * or out of order.
 */
export function* readEntries(connection: Connection): Iterable<Buffer> {
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
      // A corrupted page may yield rows in any order, or endlessly.
      if (ordinal <= last) throw corrupted(ordinal);
      yield verifyEntry(
        ordinal,
        bytes === null ? readStoredEntry(connection, ordinal) : short?.subarray(at, at + bytes),
      );
      at += bytes ?? 0;
      last = ordinal;
    }
  }
}

export function writeEntry(connection: Connection, ordinal: number, entry: Buffer): void {
  sql(connection, 'INSERT OR REPLACE INTO recall_entry (ordinal, entry) VALUES (?, ?)').run(ordinal, entry);
}

/**
 * Logs that the index entry of a memory has changed, so that the in-memory indexes of all processes are updated. A
 * trigger logs the changes of a memory's state. Returns the unique number of the change.
 */
export function noteChange(connection: Connection, ordinal: number): number {
  const { lastInsertRowid } = sql(connection, 'INSERT INTO recall_change (ordinal) VALUES (?)').run(ordinal);
  return Number(lastInsertRowid);
}

/** Values of `pending_embedding.stage`. */
export const [SHORT, LONG, REST] = [0, 1, 2];

function queueForEmbedding(
  connection: Connection,
  memories: readonly Pick<RecallEntry, 'ordinal' | 'namespace' | 'userId' | 'content'>[],
): void {
  if (!modelInUse(connection)) return;
  const insert = sql(
    connection,
    // A memory that is queued for re-embedding at low priority is moved to the queue of new memories.
    `INSERT INTO pending_embedding (ordinal, namespace, user_id, reembed, stage) VALUES (?, ?, ?, 0, ?)
     ON CONFLICT DO UPDATE SET reembed = 0, stage = excluded.stage, embedded_chars = 0`,
  );
  for (const { ordinal, namespace, userId, content } of memories) {
    insert.run(ordinal, namespace, userId, content.length > EMBEDDING_LIMITS.shortText ? LONG : SHORT);
  }
}

/**
 * Builds the index entry of a stored memory from the memory's row, without vectors.
 *
 * @param revision number of the logged change that the index entry results from; 0 for none
 */
export function rebuildEntry(connection: Connection, ordinal: number, revision = 0): Buffer {
  return buildEntry(readRecallable(connection, ordinal), ordinal, revision);
}

function readRecallable(connection: Connection, ordinal: number): Recallable {
  const row = sql(
    connection,
    `SELECT namespace, user_id AS userId, agent_id AS agentId, session_id AS sessionId, external_id AS externalId, source, created_at AS createdAt, stored_at AS storedAt,
       importance, tags, metadata, content
     FROM memory WHERE ordinal = ?`,
  ).get(ordinal) as Omit<Recallable, 'tags' | 'metadata'> & { tags: string; metadata: string };
  return {
    ...row,
    tags: fromJson<string[]>(row.tags, 'the tags of memory', ordinal),
    metadata: fromJson<Metadata>(row.metadata, 'the metadata of memory', ordinal),
  };
}
