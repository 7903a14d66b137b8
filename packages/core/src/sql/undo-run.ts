import { isDeepStrictEqual } from 'node:util';
import { CONSOLIDATION_LEASE } from '../ports/coordination.ts';
import type {
  ChangeKind,
  LaterRun,
  MemoryUndoOutcome,
  Preview,
  RunRef,
  StepResult,
  UndoOutcome,
} from '../ports/storage-consolidation.ts';
import { setEvicted } from './archive-memories.ts';
import { indexAndQueue, queueForDistilling } from './consolidation-queue.ts';
import { fromJson } from './corruption.ts';
import { countTiers, subtractAccess } from './counters.ts';
import { assertFence } from './database-marks.ts';
import { rememberFields } from './field-history.ts';
import { type FoundMemory, findByOrdinal, findMemory, isInTier } from './find-memory.ts';
import { detachDuplicate, erase, toDeleted } from './forget-memories.ts';
import { replaceAttributes } from './memory-rows.ts';
import { count, type Queries, type Transaction } from './queries.ts';
import {
  assertRunning,
  assertState,
  CHANGE_OF_MEMORY,
  type ChangeRow,
  changeCounts,
  isRun,
  MAX_REPORTED_IDS,
  type Recorded,
  refusedUndo,
  type UndoableRun,
} from './runs.ts';
import {
  decline,
  getSemanticOrdinal,
  readSources,
  setDistilledText,
  setSources,
  updateSharedFields,
} from './semantic-sources.ts';
import { raw, type Sql, sql } from './sql.ts';
import { catchUpSuccession, removeSuccessor } from './succession.ts';

/** Maximum changes that one transaction undoes, so that other writers are not blocked for long. */
const MAX_UNDONE_AT_ONCE = 100;

/** Starts or resumes the undo of a run. See `Storage.beginUndo`. */
export async function beginUndo(
  transaction: Transaction,
  namespace: string,
  id: string,
  { fence, endedAfter }: { fence: number; endedAfter: number },
): Promise<UndoOutcome> {
  await assertFence(transaction, CONSOLIDATION_LEASE, fence);
  const run = await findUndoable(transaction, namespace, id);
  if (!run) return { outcome: 'unknown' };
  const ref = { namespace, no: run.no, id, fence };
  if (run.state === 'undoing') return { outcome: 'begun', ref };
  const refusal = refusedUndo(run, endedAfter);
  if (refusal) return refusal;
  const ids = await writtenSince(transaction, ref, raw('true'));
  if (ids.length > 0) return { outcome: 'written', ids };
  const [newer] = await listLater(transaction, ref, 1);
  if (newer) return { outcome: 'newer', id: newer.id };
  await transaction.run(sql`UPDATE consolidation_run SET state = 'undoing' WHERE ${isRun(ref)}`);
  return { outcome: 'begun', ref };
}

/** See `Storage.laterRuns`. Must run in a snapshot. */
export async function laterRuns(
  queries: Queries,
  namespace: string,
  no: number,
  limit: number,
): Promise<Preview<LaterRun>> {
  const run = { namespace, no };
  return { total: await count(queries, fromLater(run)), items: await listLater(queries, run, limit) };
}

function listLater(queries: Queries, run: Pick<RunRef, 'namespace' | 'no'>, limit: number): Promise<LaterRun[]> {
  return queries.rows<LaterRun>(
    sql`SELECT id, started_at AS "startedAt" FROM ${fromLater(run)} ORDER BY no DESC LIMIT ${limit}`,
  );
}

/** Selects the later runs that are unfinished, or completed with changes. */
function fromLater({ namespace, no }: Pick<RunRef, 'namespace' | 'no'>): Sql {
  return sql`consolidation_run r WHERE namespace = ${namespace} AND no > ${no}
    AND (state IN ('running', 'undoing') OR state = 'completed' AND EXISTS (
      SELECT 1 FROM consolidation_change c WHERE c.namespace = r.namespace AND c.run = r.no))`;
}

/**
 * Returns the ids of memories that a client has written since the run, if an undo would overwrite the client's fields.
 * Fields gained from duplicates are ignored, because the undo does not restore them once a client has written the
 * memory.
 *
 * @param among condition on `consolidation_change c`
 */
async function writtenSince(
  queries: Queries,
  { namespace, no }: Pick<RunRef, 'namespace' | 'no'>,
  among: Sql,
): Promise<string[]> {
  const written = await queries.rows<{ id: string }>(sql`
    SELECT DISTINCT m.id FROM consolidation_change c CROSS JOIN memory m
    WHERE c.namespace = ${namespace} AND c.run = ${no} AND c.detail <> '{}' AND c.kind <> 'gained' AND ${among}
      AND m.namespace = c.namespace AND m.ordinal = c.ordinal
      AND CAST(${queries.dialect.jsonField(raw('c.detail'), 'version')} AS integer) <> m.version
    LIMIT ${MAX_REPORTED_IDS}`);
  return written.map(({ id }) => id);
}

/** Starts to revert a run that has not ended. See `Storage.beginRevert`. */
export async function beginRevert(
  transaction: Transaction,
  run: RunRef,
  notes: Record<string, unknown>,
): Promise<void> {
  await assertRunning(transaction, run);
  await transaction.run(
    sql`UPDATE consolidation_run SET state = 'undoing', notes = ${JSON.stringify(notes)} WHERE ${isRun(run)}`,
  );
}

/** Undoes the next changes, latest change first. See `Storage.undoSome`. */
export async function undoSome(transaction: Transaction, run: RunRef, at: number, limit: number): Promise<StepResult> {
  await assertState(transaction, run, 'undoing');
  const { namespace, no } = run;
  const batchLimit = Math.min(limit, MAX_UNDONE_AT_ONCE);
  const changes = await transaction.rows<Change>(sql`
    SELECT seq, kind, ordinal, detail FROM consolidation_change
    WHERE namespace = ${namespace} AND run = ${no}
      AND seq < coalesce((SELECT undone_from FROM consolidation_run WHERE ${isRun(run)}), CAST(${Number.MAX_SAFE_INTEGER} AS bigint))
    ORDER BY seq DESC LIMIT ${batchLimit}`);
  for (const change of changes) await undoChange(transaction, namespace, change, at);
  const last = changes.at(-1);
  if (last) await transaction.run(sql`UPDATE consolidation_run SET undone_from = ${last.seq} WHERE ${isRun(run)}`);
  const more = changes.length === batchLimit;
  if (!more) await endUndo(transaction, run, at);
  return { count: changes.length, more };
}

/** Undoes the changes that a run made to one memory. See `Storage.undoOfMemory`. */
export async function undoOfMemory(
  transaction: Transaction,
  namespace: string,
  id: string,
  memoryId: string,
  { fence, endedAfter, at }: { fence: number; endedAfter: number; at: number },
): Promise<MemoryUndoOutcome> {
  await assertFence(transaction, CONSOLIDATION_LEASE, fence);
  const run = await findUndoable(transaction, namespace, id);
  if (!run) return { outcome: 'unknown' };
  const refusal = refusedUndo(run, endedAfter);
  if (refusal) return refusal;
  const target = await findMemory(transaction, namespace, memoryId);
  if (!target) return { outcome: 'unchanged' };
  const { ordinal } = target;
  const isOfMemory = sql`c.namespace = ${namespace} AND c.ordinal = ${ordinal}`;
  const changes = await transaction.rows<Change>(sql`
    SELECT seq, kind, ordinal, detail FROM consolidation_change c WHERE ${isOfMemory} AND c.run = ${run.no}
    ORDER BY seq DESC`);
  if (changes.length === 0) return { outcome: 'unchanged' };
  const ids = await writtenSince(transaction, { namespace, no: run.no }, sql`c.ordinal = ${ordinal}`);
  if (ids.length > 0) return { outcome: 'written', ids };
  const newer = await transaction.row<{ id: string }>(sql`
    SELECT r.id FROM consolidation_change c CROSS JOIN consolidation_run r
    WHERE ${isOfMemory} AND c.run > ${run.no} AND r.namespace = c.namespace AND r.no = c.run
      AND r.state IN ('running', 'undoing', 'completed')
    ORDER BY r.no DESC LIMIT 1`);
  if (newer) return { outcome: 'newer', id: newer.id };
  for (const change of changes) await undoChange(transaction, namespace, change, at);
  await transaction.run(sql`
    DELETE FROM consolidation_change WHERE namespace = ${namespace} AND run = ${run.no} AND ordinal = ${ordinal}`);
  // Otherwise, the next run would merge it again.
  await transaction.run(sql`DELETE FROM merge_candidate WHERE namespace = ${namespace} AND ordinal = ${ordinal}`);
  const isDeleted = (await findByOrdinal(transaction, namespace, ordinal)) === undefined;
  return { outcome: 'undone', memory: toDeleted(target), isDeleted };
}

function findUndoable(queries: Queries, namespace: string, id: string): Promise<UndoableRun | undefined> {
  return queries.row<UndoableRun>(
    sql`SELECT no, state, ended_at AS "endedAt" FROM consolidation_run WHERE namespace = ${namespace} AND id = ${id}`,
  );
}

type Change = Omit<ChangeRow, 'id'> & { ordinal: number };

async function endUndo(transaction: Transaction, run: RunRef, at: number): Promise<void> {
  await transaction.run(sql`
    UPDATE consolidation_run AS r SET state = CASE WHEN ended_at IS NULL THEN 'reverted' ELSE 'undone' END,
      counts = CASE WHEN ended_at IS NULL THEN ${changeCounts(transaction.dialect)} ELSE counts END, ended_at = coalesce(ended_at, ${at})
    WHERE ${isRun(run)}`);
}

function undoChange(
  transaction: Transaction,
  namespace: string,
  { kind, ordinal, detail }: Change,
  at: number,
): Promise<void> {
  const undo = UNDO[kind] as Undo<ChangeKind>;
  return undo(transaction, {
    namespace,
    ordinal,
    detail: fromJson<Recorded<ChangeKind>['detail']>(detail, CHANGE_OF_MEMORY, ordinal),
    at,
  });
}

/**
 * Undoes one change of an existing memory, unless a later write conflicts. Later changes of the run must be undone
 * already.
 */
type Undo<Kind extends ChangeKind> = (transaction: Transaction, change: Undoable<Kind>) => Promise<void>;

/** A change to undo, and the time of the undo in ms. */
type Undoable<Kind extends ChangeKind> = Recorded<Kind> & { at: number };

const UNDO: { readonly [Kind in ChangeKind]: Undo<Kind> } = {
  promoted: demote,
  merged: unmerge,
  moved: moveBack,
  gained: restoreGained,
  distilled: undistil,
  refreshed: unrefresh,
  corrected: uncorrect,
  evicted: unevict,
};

async function demote(transaction: Transaction, { namespace, ordinal }: Recorded<'promoted'>): Promise<void> {
  const moved = await transaction.row<Pick<FoundMemory, 'userId' | 'mergedInto' | 'evictedAt'>>(sql`
    UPDATE memory SET tier = 'working'
    WHERE namespace = ${namespace} AND ordinal = ${ordinal} AND tier = 'episodic'
    RETURNING user_id AS "userId", merged_into AS "mergedInto", evicted_at AS "evictedAt"`);
  if (!moved || !isInTier(moved)) return;
  const { userId } = moved;
  await countTiers(transaction, [
    { namespace, userId, tier: 'working', count: 1 },
    { namespace, userId, tier: 'episodic', count: -1 },
  ]);
}

async function unevict(transaction: Transaction, { namespace, ordinal }: Recorded<'evicted'>): Promise<void> {
  const target = await findByOrdinal(transaction, namespace, ordinal);
  if (!target || target.evictedAt === null || target.mergedInto !== null) return;
  await setEvicted(transaction, namespace, [ordinal], null);
  await catchUpSuccession(transaction, namespace, ordinal);
  await indexAndQueue(transaction, namespace, ordinal);
}

async function unmerge(
  transaction: Transaction,
  { namespace, ordinal, detail, at }: Undoable<'merged'>,
): Promise<void> {
  const duplicate = await findMergedDuplicate(transaction, namespace, ordinal, detail.into);
  if (!duplicate) return;
  await rememberFields(transaction, namespace, [ordinal], at, { isRegrouping: true });
  await detachDuplicate(transaction, duplicate);
}

async function moveBack(
  transaction: Transaction,
  { namespace, ordinal, detail, at }: Undoable<'moved'>,
): Promise<void> {
  const duplicate = await findMergedDuplicate(transaction, namespace, ordinal, detail.into);
  if (!duplicate) return;
  const former = await transaction.row<{ id: string }>(sql`
    SELECT id FROM memory WHERE namespace = ${namespace} AND ordinal = ${detail.from} AND merged_into IS NULL`);
  await rememberFields(transaction, namespace, [ordinal], at, { isRegrouping: true });
  // Detaches the duplicate if its former survivor no longer exists as a separate memory.
  if (!former) return detachDuplicate(transaction, duplicate);
  await transaction.run(
    sql`UPDATE memory SET merged_into = ${former.id} WHERE namespace = ${namespace} AND ordinal = ${ordinal}`,
  );
}

/** Returns a duplicate if it is still merged into the memory with the ordinal `into`. */
async function findMergedDuplicate(
  transaction: Transaction,
  namespace: string,
  ordinal: number,
  into: number,
): Promise<(FoundMemory & { mergedInto: string }) | undefined> {
  const duplicate = await findByOrdinal(transaction, namespace, ordinal);
  const survivor = await findByOrdinal(transaction, namespace, into);
  return survivor && duplicate?.mergedInto === survivor.id ? { ...duplicate, mergedInto: survivor.id } : undefined;
}

// Does not restore the fields of a memory that a client has written since the undo began.
async function restoreGained(
  transaction: Transaction,
  { namespace, ordinal, detail, at }: Undoable<'gained'>,
): Promise<void> {
  await subtractAccess(transaction, namespace, ordinal, detail);
  const now = await findByOrdinal(transaction, namespace, ordinal);
  if (now?.version !== detail.version) return;
  const { tags, importance } = detail;
  const gainedTags = fromJson<string[]>(now.tags, 'the tags of memory', ordinal);
  if (importance === now.importance && isDeepStrictEqual(tags, gainedTags)) return;
  await rememberFields(transaction, namespace, [ordinal], at);
  const labels = { namespace, ordinal, metadata: {}, externalId: null };
  await replaceAttributes(transaction, [{ before: { ...labels, tags: gainedTags }, after: { ...labels, tags } }]);
  await transaction.run(sql`
    UPDATE memory SET importance = ${importance}, tags = ${JSON.stringify(tags)}
    WHERE namespace = ${namespace} AND ordinal = ${ordinal}`);
  await transaction.recall.relabel(namespace, [ordinal]);
}

/**
 * Deletes a semantic memory that the run created. A group with the same sources is not distilled again until the text
 * of a source changes.
 */
async function undistil(
  transaction: Transaction,
  { namespace, ordinal, detail }: Recorded<'distilled'>,
): Promise<void> {
  const target = await findByOrdinal(transaction, namespace, ordinal);
  if (target?.version !== detail.version) return;
  await decline(transaction, namespace, ordinal);
  await erase(transaction, namespace, [target]);
}

/**
 * Restores the former text and sources of a semantic memory, except sources that were forgotten or are now sources of
 * another semantic memory.
 */
async function unrefresh(
  transaction: Transaction,
  { namespace, ordinal, detail, at }: Undoable<'refreshed'>,
): Promise<void> {
  const target = await findByOrdinal(transaction, namespace, ordinal);
  if (target?.version !== detail.version) return;
  const sources: number[] = [];
  for (const source of detail.sources) {
    if (await canBeSource(transaction, namespace, source, ordinal)) sources.push(source);
  }
  if (sources.length === 0) return;
  await decline(transaction, namespace, ordinal);
  if (target.revision !== detail.revision && !(await restoreText(transaction, target, detail.revision))) {
    // The earlier text was deleted, because a source was forgotten since the run. The next run makes another.
    await erase(transaction, namespace, [target]);
    await queueForDistilling(transaction, namespace, sources);
    return;
  }
  await rememberFields(transaction, namespace, [ordinal], at);
  await setSources(transaction, namespace, ordinal, sources);
  await updateSharedFields(transaction, target, await readSources(transaction, namespace, sources));
}

// A merged memory can be restored as a source. If this run merged the memory, the merge is undone next. If a later run
// merged the memory, the survivor has the same text.
async function canBeSource(
  transaction: Transaction,
  namespace: string,
  source: number,
  semantic: number,
): Promise<boolean> {
  const { tier } = (await findByOrdinal(transaction, namespace, source)) ?? {};
  if (tier !== 'episodic') return false;
  return [undefined, semantic].includes(await getSemanticOrdinal(transaction, namespace, source));
}

/** Restores an earlier text of a semantic memory. Returns false if the text was deleted. */
async function restoreText(transaction: Transaction, target: FoundMemory, revision: number): Promise<boolean> {
  const { namespace, ordinal } = target;
  const earlier = await transaction.row<{ content: string }>(sql`
    DELETE FROM memory_history WHERE namespace = ${namespace} AND ordinal = ${ordinal} AND revision = ${revision}
    RETURNING content`);
  if (earlier) await setDistilledText(transaction, target, earlier.content);
  return earlier !== undefined;
}

/** Removes a supersede link that the run set. */
async function uncorrect(
  transaction: Transaction,
  { namespace, ordinal, detail, at }: Undoable<'corrected'>,
): Promise<void> {
  const superseded = await findByOrdinal(transaction, namespace, ordinal);
  const superseding = await findByOrdinal(transaction, namespace, detail.by);
  if (!superseded || superseding?.supersedes !== superseded.id) return;
  await rememberFields(transaction, namespace, [superseding.ordinal], at);
  await transaction.run(
    sql`UPDATE memory SET supersedes = NULL WHERE namespace = ${namespace} AND ordinal = ${superseding.ordinal}`,
  );
  await removeSuccessor(transaction, namespace, superseding.ordinal, at);
}
