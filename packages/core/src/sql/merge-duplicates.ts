import { isDeepStrictEqual } from 'node:util';
import { LIMITS } from '@memoryd/contract/limits';
import { canonicalText } from '@memoryd/search';
import type { ChangeDetails, RunRef, StepResult } from '../ports/storage-consolidation.ts';
import { fromJson } from './corruption.ts';
import { recordAccess } from './counters.ts';
import { rememberFields } from './field-history.ts';
import { areDuplicates, MERGEABLE } from './filters.ts';
import { countLeaving, TIER_MEMBER, type TierMember } from './list-counters.ts';
import { addAttributes } from './memory-rows.ts';
import type { Dialect, Transaction } from './queries.ts';
import { assertRunning, recordChanges } from './runs.ts';
import { raw, type Sql, sql } from './sql.ts';

/** Approximate maximum of merges per transaction, so that other writers are not blocked for long. */
const MAX_MERGED_AT_ONCE = 50;

/**
 * Merges queued memories and their exact duplicates into the oldest of each group. Stops after about `limit` or
 * MAX_MERGED_AT_ONCE merges, whichever is less. See `Storage.mergeDuplicates`.
 */
export async function mergeDuplicates(
  transaction: Transaction,
  run: RunRef,
  now: number,
  limit: number,
): Promise<StepResult> {
  await assertRunning(transaction, run);
  const { namespace } = run;
  const maxMerges = Math.min(limit, MAX_MERGED_AT_ONCE);
  let count = 0;
  for (const ordinal of await dropWithoutDuplicates(transaction, namespace, limit)) {
    if (count >= maxMerges) break;
    const duplicates = await readDuplicates(transaction, namespace, ordinal);
    let merged = 0;
    for (const group of mergeableGroups(duplicates)) merged += await merge(transaction, run, group, now);
    count += merged;
    // If the batch was full, more duplicates may exist, so the memory stays queued.
    if (duplicates.length < DUPLICATES_AT_ONCE || merged === 0) await drop(transaction, namespace, [ordinal]);
  }
  const left = await transaction.row(
    sql`SELECT 1 FROM merge_candidate WHERE namespace = ${namespace} ORDER BY ordinal LIMIT 1`,
  );
  return { count, more: left !== undefined };
}

/** Removes memories without duplicates from the front of the queue. Returns the ordinals of the other memories. */
async function dropWithoutDuplicates(transaction: Transaction, namespace: string, limit: number): Promise<number[]> {
  const { dialect } = transaction;
  const waiting = await transaction.rows<{ ordinal: number; hasDuplicate: boolean | number }>(sql`
    SELECT waiting.ordinal, EXISTS (
      SELECT 1 FROM (SELECT 1 AS one) AS once ${joinQueued(dialect, namespace, raw('waiting.ordinal'))}
      ${joinDuplicates(dialect)} AND m.ordinal <> c.ordinal) AS "hasDuplicate"
    FROM (SELECT ordinal FROM merge_candidate WHERE namespace = ${namespace} ORDER BY ordinal LIMIT ${limit}) AS waiting
    ORDER BY waiting.ordinal`);
  const getOrdinals = (hasDuplicate: boolean) =>
    waiting.filter((memory) => Boolean(memory.hasDuplicate) === hasDuplicate).map(({ ordinal }) => ordinal);
  await drop(transaction, namespace, getOrdinals(false));
  return getOrdinals(true);
}

async function drop(transaction: Transaction, namespace: string, ordinals: readonly number[]): Promise<void> {
  await transaction.run(sql`
    DELETE FROM merge_candidate WHERE namespace = ${namespace}
      AND ordinal IN (SELECT ordinal FROM ${transaction.dialect.ordinals('looked_at', ordinals)})`);
}

function readDuplicates(transaction: Transaction, namespace: string, ordinal: number): Promise<Duplicate[]> {
  const { dialect } = transaction;
  return transaction.rows<Duplicate>(sql`
    SELECT m.ordinal, m.id, m.content, m.version, m.importance, m.tags, m.stored_at AS "storedAt", a.count, a.last_at AS "lastAt"
    FROM (SELECT 1 AS one) AS once ${joinQueued(dialect, namespace, sql`${ordinal}`)} ${joinDuplicates(dialect)}
    LEFT JOIN memory_access a ON a.namespace = m.namespace AND a.ordinal = m.ordinal
    ORDER BY m.created_at, m.ordinal LIMIT ${DUPLICATES_AT_ONCE}`);
}

/** Returns a join of the queued memory with the given ordinal, under the alias `c`. */
function joinQueued({ joinMemory }: Dialect, namespace: string, ordinal: Sql): Sql {
  return joinMemory('c', { namespace: sql`${namespace}`, ordinal });
}

async function merge(
  transaction: Transaction,
  run: RunRef,
  [survivor, ...others]: Duplicate[],
  now: number,
): Promise<number> {
  if (!survivor || others.length === 0) return 0;
  const { namespace } = run;
  const ordinals = others.map(({ ordinal }) => ordinal);
  // A duplicate that arrived before its survivor was a memory of its own until then, even if the clock was set back.
  const at = Math.max(now, survivor.storedAt);
  await rememberFields(transaction, namespace, ordinals, at, { isRegrouping: true });
  await updateSurvivor(transaction, run, survivor, others, at);
  await moveDuplicates(transaction, run, survivor, others, at);
  await transaction.recall.remove(namespace, ordinals);
  await replaceSources(transaction, namespace, survivor.ordinal, ordinals);
  const merged = await transaction.rows<TierMember>(sql`
    UPDATE memory SET merged_into = ${survivor.id}
    WHERE ${transaction.dialect.isMemory('ordinal', namespace, ordinals)} RETURNING ${TIER_MEMBER}`);
  await countLeaving(transaction, merged);
  await recordChanges(
    transaction,
    run,
    ordinals.map((ordinal) => ({ kind: 'merged', ordinal, detail: { into: survivor.ordinal } })),
  );
  return others.length;
}

async function updateSurvivor(
  transaction: Transaction,
  run: RunRef,
  survivor: Duplicate,
  others: readonly Duplicate[],
  at: number,
): Promise<void> {
  const { namespace } = run;
  const { ordinal } = survivor;
  const { importance, tags, before } = getGain(survivor, others);
  await recordChanges(transaction, run, [{ kind: 'gained', ordinal, detail: before }]);
  if (before.lastUse !== null) {
    await recordAccess(transaction, [{ namespace, ordinal, count: before.uses, at: before.lastUse }]);
  }
  if (importance === before.importance && isDeepStrictEqual(tags, before.tags)) return;
  await rememberFields(transaction, namespace, [ordinal], at);
  await transaction.run(sql`
    UPDATE memory SET importance = ${importance}, tags = ${JSON.stringify(tags)}
    WHERE namespace = ${namespace} AND ordinal = ${ordinal}`);
  await addAttributes(transaction, [{ namespace, ordinal, tags, metadata: {}, externalId: null }]);
  await transaction.recall.relabel(namespace, [ordinal]);
}

/** Changes the target of earlier merges from a duplicate to the survivor. */
async function moveDuplicates(
  transaction: Transaction,
  run: RunRef,
  survivor: Duplicate,
  others: readonly Duplicate[],
  at: number,
): Promise<void> {
  const { isIn } = transaction.dialect;
  const ordinals = new Map(others.map(({ id, ordinal }) => [id, ordinal]));
  const these = sql`namespace = ${run.namespace} AND ${isIn(raw('merged_into'), [...ordinals.keys()])}`;
  const moved = await transaction.rows<{ ordinal: number; duplicate: string }>(
    sql`SELECT ordinal, merged_into AS duplicate FROM memory WHERE ${these}`,
  );
  if (moved.length === 0) return;
  await rememberFields(
    transaction,
    run.namespace,
    moved.map(({ ordinal }) => ordinal),
    at,
    { isRegrouping: true },
  );
  await transaction.run(sql`UPDATE memory SET merged_into = ${survivor.id} WHERE ${these}`);
  await recordChanges(
    transaction,
    run,
    moved.map(({ ordinal, duplicate }) => ({
      kind: 'moved',
      ordinal,
      detail: { from: ordinals.get(duplicate) as number, into: survivor.ordinal },
    })),
  );
}

// Replaces duplicates with the survivor as sources of semantic memories. A memory can be a source of only one semantic
// memory, so a duplicate stays a source if the survivor is a source of another semantic memory.
async function replaceSources(
  transaction: Transaction,
  namespace: string,
  survivor: number,
  duplicates: readonly number[],
): Promise<void> {
  const links = await transaction.rows<{ source: number; semantic: number }>(sql`
    SELECT source, semantic FROM memory_source
    WHERE ${transaction.dialect.isMemory('source', namespace, [survivor, ...duplicates])}`);
  const semanticBySource = new Map(links.map(({ source, semantic }) => [source, semantic]));
  for (const duplicate of duplicates) {
    const semantic = semanticBySource.get(duplicate);
    const survivors = semanticBySource.get(survivor);
    const link = sql`namespace = ${namespace} AND source = ${duplicate}`;
    if (semantic === undefined) continue;
    if (survivors === undefined) {
      await transaction.run(sql`UPDATE memory_source SET source = ${survivor} WHERE ${link}`);
      semanticBySource.set(survivor, semantic);
    } else if (survivors === semantic) {
      await transaction.run(sql`DELETE FROM memory_source WHERE ${link}`);
    }
  }
}

/** The fields of a memory that a merge needs. */
interface Duplicate {
  ordinal: number;
  id: string;
  content: string;
  version: number;
  importance: number;
  tags: string;
  storedAt: number;
  /** Access count and time of the last access; null if the memory was never accessed. */
  count: number | null;
  lastAt: number | null;
}

/** Duplicates read per query. A larger group is merged in parts that all contain its oldest memory. */
const DUPLICATES_AT_ONCE = 32;

/** Merge candidates that a plan reads per query. */
export const PLANNED_AT_ONCE = 5000;

/**
 * Yields groups of memories with equal texts. Each group is to be merged into its first memory. The texts are compared,
 * because equal digests do not prove equal texts. A memory is left out if merging its tags would exceed the maximum
 * number of tags of the survivor.
 */
function* mergeableGroups(duplicates: readonly Duplicate[]): Iterable<Duplicate[]> {
  for (const group of byExactText(duplicates)) yield withRoomForTags(group);
}

function byExactText(duplicates: readonly Duplicate[]): Iterable<Duplicate[]> {
  const groups = new Map<string, Duplicate[]>();
  for (const duplicate of duplicates) {
    const text = canonicalText(duplicate.content);
    const group = groups.get(text);
    if (group) group.push(duplicate);
    else groups.set(text, [duplicate]);
  }
  return groups.values();
}

function withRoomForTags(group: readonly Duplicate[]): Duplicate[] {
  let tags = new Set<string>();
  return group.filter((duplicate) => {
    const all = new Set([...tags, ...fromJson<string[]>(duplicate.tags, 'the tags of memory', duplicate.ordinal)]);
    if (all.size > LIMITS.tags) return false;
    tags = all;
    return true;
  });
}

/** The fields of the survivor after a merge, and the values of these fields before the merge. */
interface Gain {
  importance: number;
  tags: string[];
  before: ChangeDetails['gained'];
}

function getGain(survivor: Duplicate, others: readonly Duplicate[]): Gain {
  const all = [survivor, ...others];
  const used = others.reduce((sum, duplicate) => sum + (duplicate.count ?? 0), 0);
  const uses = Math.max(0, Math.min(used, LIMITS.counterValue - (survivor.count ?? 0)));
  const lastUse = Math.max(...all.map((duplicate) => duplicate.lastAt ?? 0));
  return {
    importance: Math.max(...all.map((duplicate) => duplicate.importance)),
    tags: [
      ...new Set(
        all.flatMap((duplicate) => fromJson<string[]>(duplicate.tags, 'the tags of memory', duplicate.ordinal)),
      ),
    ],
    before: {
      version: survivor.version,
      tags: fromJson<string[]>(survivor.tags, 'the tags of memory', survivor.ordinal),
      importance: survivor.importance,
      accessedAt: survivor.lastAt,
      uses,
      lastUse: uses > 0 ? lastUse : null,
    },
  };
}

/**
 * Returns a join of each `memory c` with itself and its mergeable duplicates, as `m`. A memory without a session has no
 * duplicates. The caller may append ` AND …`.
 */
export function joinDuplicates({ joinMemory }: Dialect): Sql {
  const key = {
    namespace: raw('c.namespace'),
    text_digest: raw('c.text_digest'),
    user_id: raw('c.user_id'),
    session_id: raw('c.session_id'),
  };
  return sql`${joinMemory('m', key, 'memory_by_text')} AND ${raw(`${areDuplicates('m', 'c')} AND ${MERGEABLE}`)}`;
}
