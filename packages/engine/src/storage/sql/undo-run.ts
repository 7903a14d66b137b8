import { CONSOLIDATION_LEASE } from '../../ports/coordination.ts';
import type { ChangeKind, RunRef, StepResult, UndoOutcome } from '../../ports/storage-consolidation.ts';
import { fromJson } from '../damage.ts';
import { setEvicted } from './archive-memories.ts';
import { correctAnew, enterAgain } from './candidates.ts';
import { countTiers, takeAccess } from './counters.ts';
import { assertFence } from './database-marks.ts';
import { type FoundMemory, findByOrdinal, isInTier } from './find-memory.ts';
import { erase, setFree } from './forget-memories.ts';
import { addAttributes, removeAttributes } from './memory-rows.ts';
import type { Queries, Transaction } from './queries.ts';
import {
  assertRunning,
  assertState,
  type ChangeRow,
  changeCounts,
  NAMED_LIMIT,
  type Recorded,
  refusedUndo,
  these,
  type UndoableRun,
} from './runs.ts';
import {
  decline,
  describe,
  distilAgain,
  distilledFrom,
  getSources,
  readSources,
  setDistilledText,
  setSources,
} from './semantic-sources.ts';
import { raw, sql } from './sql.ts';

/** Changes that one transaction takes back, so that other writers get their turn. */
const TAKEN_BACK_AT_ONCE = 100;

/** Begins to take a run back, or goes on with it. See `Storage.beginUndo`. */
export async function beginUndo(
  transaction: Transaction,
  namespace: string,
  id: string,
  { fence, endedAfter }: { fence: number; endedAfter: number },
): Promise<UndoOutcome> {
  await assertFence(transaction, CONSOLIDATION_LEASE, fence);
  const run = await transaction.row<UndoableRun>(
    sql`SELECT no, state, ended_at AS "endedAt" FROM consolidation_run WHERE namespace = ${namespace} AND id = ${id}`,
  );
  if (!run) return { outcome: 'unknown' };
  const ref = { namespace, no: run.no, id, fence };
  if (run.state === 'undoing') return { outcome: 'begun', ref };
  const refusal = refusedUndo(run, endedAfter);
  if (refusal) return refusal;
  const newer = await newerRun(transaction, ref);
  if (newer !== undefined) return { outcome: 'newer', id: newer };
  const ids = await writtenSince(transaction, ref);
  if (ids.length > 0) return { outcome: 'written', ids };
  await transaction.run(sql`UPDATE consolidation_run SET state = 'undoing' WHERE ${these(ref)}`);
  return { outcome: 'begun', ref };
}

/** The newest run after this one that has changed anything and not been undone. */
async function newerRun(queries: Queries, { namespace, no }: RunRef): Promise<string | undefined> {
  const newer = await queries.row<{ id: string }>(sql`
    SELECT id FROM consolidation_run r WHERE namespace = ${namespace} AND no > ${no}
      AND (state IN ('running', 'undoing') OR state = 'completed' AND EXISTS (
        SELECT 1 FROM consolidation_change c WHERE c.namespace = r.namespace AND c.run = r.no))
    ORDER BY no DESC LIMIT 1`);
  return newer?.id;
}

/**
 * Returns the memories that a client has written since the run changed them, where undoing would overwrite that. What a
 * memory gained from its duplicates is left to it once a client has written it.
 */
async function writtenSince(queries: Queries, { namespace, no }: RunRef): Promise<string[]> {
  const written = await queries.rows<{ id: string }>(sql`
    SELECT DISTINCT m.id FROM consolidation_change c CROSS JOIN memory m
    WHERE c.namespace = ${namespace} AND c.run = ${no} AND c.detail <> '{}' AND c.kind <> 'gained'
      AND m.namespace = c.namespace AND m.ordinal = c.ordinal
      AND CAST(${queries.dialect.jsonField(raw('c.detail'), 'version')} AS integer) <> m.version
    LIMIT ${NAMED_LIMIT}`);
  return written.map(({ id }) => id);
}

/** Begins to take back a run that has not ended. See `Storage.beginRevert`. */
export async function beginRevert(
  transaction: Transaction,
  run: RunRef,
  notes: Record<string, unknown>,
): Promise<void> {
  await assertRunning(transaction, run);
  await transaction.run(
    sql`UPDATE consolidation_run SET state = 'undoing', notes = ${JSON.stringify(notes)} WHERE ${these(run)}`,
  );
}

/** Takes back the last changes that have not been. See `Storage.undoSome`. */
export async function undoSome(transaction: Transaction, run: RunRef, at: number, limit: number): Promise<StepResult> {
  await assertState(transaction, run, 'undoing');
  const { namespace, no } = run;
  const most = Math.min(limit, TAKEN_BACK_AT_ONCE);
  const changes = await transaction.rows<Change>(sql`
    SELECT seq, kind, ordinal, detail FROM consolidation_change
    WHERE namespace = ${namespace} AND run = ${no}
      AND seq < coalesce((SELECT undone_from FROM consolidation_run WHERE ${these(run)}), CAST(${Number.MAX_SAFE_INTEGER} AS bigint))
    ORDER BY seq DESC LIMIT ${most}`);
  for (const change of changes) await takeBack(transaction, namespace, change);
  const last = changes.at(-1);
  if (last) await transaction.run(sql`UPDATE consolidation_run SET undone_from = ${last.seq} WHERE ${these(run)}`);
  const more = changes.length === most;
  if (!more) await endUndo(transaction, run, at);
  return { count: changes.length, more };
}

type Change = Omit<ChangeRow, 'id'> & { ordinal: number };

async function endUndo(transaction: Transaction, run: RunRef, at: number): Promise<void> {
  await transaction.run(sql`
    UPDATE consolidation_run AS r SET state = CASE WHEN ended_at IS NULL THEN 'reverted' ELSE 'undone' END,
      counts = CASE WHEN ended_at IS NULL THEN ${changeCounts(transaction.dialect)} ELSE counts END, ended_at = coalesce(ended_at, ${at})
    WHERE ${these(run)}`);
}

function takeBack(transaction: Transaction, namespace: string, { kind, ordinal, detail }: Change): Promise<void> {
  const undo = UNDO[kind] as Undo<ChangeKind>;
  return undo(transaction, { namespace, ordinal, detail: fromJson<Recorded<ChangeKind>['detail']>(detail) });
}

/**
 * Takes back one change of a memory that has not been forgotten, as far as nothing else has happened to it since. Later
 * changes have been taken back before.
 */
type Undo<Kind extends ChangeKind> = (transaction: Transaction, change: Recorded<Kind>) => Promise<void>;

const UNDO: { readonly [Kind in ChangeKind]: Undo<Kind> } = {
  promoted: demote,
  merged: unmerge,
  moved: moveBack,
  gained: giveBack,
  distilled: undistil,
  refreshed: unrefresh,
  corrected: uncorrect,
  evicted: unevict,
};

async function demote(transaction: Transaction, { namespace, ordinal }: Recorded<'promoted'>): Promise<void> {
  const moved = await transaction.row<Pick<FoundMemory, 'mergedInto' | 'evictedAt'>>(sql`
    UPDATE memory SET tier = 'working'
    WHERE namespace = ${namespace} AND ordinal = ${ordinal} AND tier = 'episodic'
    RETURNING merged_into AS "mergedInto", evicted_at AS "evictedAt"`);
  if (!moved || !isInTier(moved)) return;
  await countTiers(transaction, [
    { namespace, tier: 'working', count: 1 },
    { namespace, tier: 'episodic', count: -1 },
  ]);
}

async function unevict(transaction: Transaction, { namespace, ordinal }: Recorded<'evicted'>): Promise<void> {
  const target = await findByOrdinal(transaction, namespace, ordinal);
  if (!target || target.evictedAt === null || target.mergedInto !== null) return;
  await setEvicted(transaction, namespace, [ordinal], null);
  await enterAgain(transaction, namespace, ordinal);
}

async function unmerge(transaction: Transaction, { namespace, ordinal, detail }: Recorded<'merged'>): Promise<void> {
  const duplicate = await duplicateIn(transaction, namespace, ordinal, detail.into);
  if (duplicate) await setFree(transaction, duplicate);
}

async function moveBack(transaction: Transaction, { namespace, ordinal, detail }: Recorded<'moved'>): Promise<void> {
  const duplicate = await duplicateIn(transaction, namespace, ordinal, detail.into);
  if (!duplicate) return;
  const former = await transaction.row<{ id: string }>(sql`
    SELECT id FROM memory WHERE namespace = ${namespace} AND ordinal = ${detail.from} AND merged_into IS NULL`);
  // The memory that it was merged into before has been forgotten.
  if (!former) return setFree(transaction, duplicate);
  const moved = await transaction.row<{ correctedBy: string | null }>(sql`
    UPDATE memory SET merged_into = ${former.id} WHERE namespace = ${namespace} AND ordinal = ${ordinal}
    RETURNING superseded_by AS "correctedBy"`);
  if (moved?.correctedBy != null) await correctAnew(transaction, namespace, [duplicate.mergedInto, former.id]);
}

/** A memory, if it is still merged into another. */
async function duplicateIn(
  transaction: Transaction,
  namespace: string,
  ordinal: number,
  into: number,
): Promise<(FoundMemory & { mergedInto: string }) | undefined> {
  const duplicate = await findByOrdinal(transaction, namespace, ordinal);
  const survivor = await findByOrdinal(transaction, namespace, into);
  return survivor && duplicate?.mergedInto === survivor.id ? { ...duplicate, mergedInto: survivor.id } : undefined;
}

// What a client has written since the undo began stays.
async function giveBack(transaction: Transaction, { namespace, ordinal, detail }: Recorded<'gained'>): Promise<void> {
  await takeAccess(transaction, namespace, ordinal, detail);
  const now = await findByOrdinal(transaction, namespace, ordinal);
  if (now?.version !== detail.version) return;
  const { tags, importance } = detail;
  const labels = { namespace, ordinal, metadata: {} };
  await removeAttributes(transaction, [{ ...labels, tags: fromJson<string[]>(now.tags) }]);
  await addAttributes(transaction, [{ ...labels, tags }]);
  await transaction.run(sql`
    UPDATE memory SET importance = ${importance}, tags = ${JSON.stringify(tags)}
    WHERE namespace = ${namespace} AND ordinal = ${ordinal}`);
  await transaction.recall.relabel(namespace, ordinal);
}

/** Removes a semantic memory that a run has made. Its group is not distilled again before it changes. */
async function undistil(
  transaction: Transaction,
  { namespace, ordinal, detail }: Recorded<'distilled'>,
): Promise<void> {
  const target = await findByOrdinal(transaction, namespace, ordinal);
  if (target?.version !== detail.version) return;
  await decline(transaction, namespace, ordinal);
  await erase(transaction, namespace, [target]);
}

/** Gives a semantic memory the sources that it had, those that have been forgotten left out, and its text from then. */
async function unrefresh(
  transaction: Transaction,
  { namespace, ordinal, detail }: Recorded<'refreshed'>,
): Promise<void> {
  const target = await findByOrdinal(transaction, namespace, ordinal);
  if (target?.version !== detail.version) return;
  const sources: number[] = [];
  for (const source of detail.sources) {
    if (await canBeSource(transaction, namespace, source, ordinal)) sources.push(source);
  }
  if (sources.length === 0) return;
  await decline(transaction, namespace, ordinal);
  await setSources(transaction, namespace, ordinal, sources);
  await describe(transaction, target, await readSources(transaction, namespace, sources));
  if (target.revision !== detail.revision) await restoreText(transaction, target, detail.revision);
}

// Also where it is merged: a merge by the same run is taken back next, and by a later one hides no text.
async function canBeSource(
  transaction: Transaction,
  namespace: string,
  source: number,
  semantic: number,
): Promise<boolean> {
  const { tier } = (await findByOrdinal(transaction, namespace, source)) ?? {};
  if (tier !== 'episodic') return false;
  return [undefined, semantic].includes(await distilledFrom(transaction, namespace, source));
}

// Where a source has been forgotten since, no earlier text is left.
async function restoreText(transaction: Transaction, target: FoundMemory, revision: number): Promise<void> {
  const { namespace, ordinal } = target;
  const earlier = await transaction.row<{ content: string }>(sql`
    DELETE FROM memory_history WHERE namespace = ${namespace} AND ordinal = ${ordinal} AND revision = ${revision}
    RETURNING content`);
  if (earlier) await setDistilledText(transaction, target, earlier.content);
  else await distilAgain(transaction, target, await getSources(transaction, namespace, ordinal));
}

/** Lets a memory no longer rank below another that a run took for its correction. */
async function uncorrect(
  transaction: Transaction,
  { namespace, ordinal, detail }: Recorded<'corrected'>,
): Promise<void> {
  const wrong = await findByOrdinal(transaction, namespace, ordinal);
  const right = await findByOrdinal(transaction, namespace, detail.by);
  if (!wrong || right?.supersedes !== wrong.id) return;
  await transaction.run(
    sql`UPDATE memory SET supersedes = NULL WHERE namespace = ${namespace} AND ordinal = ${right.ordinal}`,
  );
  await transaction.run(sql`
    UPDATE memory SET superseded_by = NULL
    WHERE namespace = ${namespace} AND ordinal = ${ordinal} AND superseded_by = ${right.id}`);
}
