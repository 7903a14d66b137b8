import {
  assertValid,
  ConsolidateRequest,
  type ConsolidateResponse,
  type Consolidation,
  type ConsolidationChange,
  type ConsolidationPlan,
  ConsolidationRequest,
  type ConsolidationResponse,
  ConsolidationsRequest,
  type ConsolidationsResponse,
  createCheck,
  invalidRequest,
  isStorable,
  type LaterConsolidations,
  LIMITS,
  MemoryError,
  UndoRequest,
  type UndoResponse,
} from '@memoryd/contract';
import type { UndoResult } from '../consolidation/consolidator.ts';
import { toCounts } from '../consolidation/steps.ts';
import { numberCursors, pageEnd, pageRequest } from '../cursor.ts';
import type { ConsolidationRun, LaterRun, Preview, RunChange, UndoOutcome } from '../ports/storage-consolidation.ts';
import { toTimestamp, toTimestampOrNull } from '../time.ts';
import type { Core } from './core.ts';

const checkConsolidate = createCheck(ConsolidateRequest, 'request');
const checkMany = createCheck(ConsolidationsRequest, 'request');
const checkOne = createCheck(ConsolidationRequest, 'request', ['id']);
const checkUndo = createCheck(UndoRequest, 'request');
const runCursors = numberCursors('consolidations');
const changeCursors = numberCursors('changes');

/** See `MemoryApi.consolidate`. Without `min_age_seconds`, every working memory is promoted. */
export async function consolidate(
  core: Core,
  namespace: string,
  request: ConsolidateRequest = {},
): Promise<ConsolidateResponse> {
  assertValid(checkConsolidate, request);
  const minAgeMs = (request.min_age_seconds ?? 0) * 1000;
  if (request.dry_run) return plan(core, namespace, minAgeMs);
  const run = await core.consolidator.consolidate(namespace, minAgeMs);
  const selfCheck = run.state === 'reverted' ? 'failed' : 'passed';
  return { status: 'consolidated', ...toCounts(run), id: run.id, self_check: selfCheck };
}

async function plan(core: Core, namespace: string, minAgeMs: number): Promise<ConsolidateResponse> {
  const { promote, merge, distil, evict } = await core.consolidator.plan(namespace, minAgeMs);
  const plan: ConsolidationPlan = {
    promote: toPlanned(promote, ({ id }) => ({ id })),
    merge: toPlanned(merge, ({ id, mergedInto }) => ({ id, merged_into: mergedInto })),
    distil: toPlanned(distil, ({ sources, content, refreshes }) => ({
      content,
      derived_from: sources,
      ...(refreshes !== undefined && { refreshes }),
    })),
    evict: toPlanned(evict, ({ id, reason }) => ({ id, reason })),
  };
  const created = distil.items.filter(({ refreshes }) => refreshes === undefined).length;
  const counts = { promoted: promote.total, distilled: created, merged: merge.total, evicted: evict.total };
  return { status: 'planned', ...toCounts({ counts }), plan };
}

function toPlanned<Item, Output>({ total, items }: Preview<Item>, toItem: (item: Item) => Output) {
  return { total, memories: items.map(toItem) };
}

/** See `MemoryApi.consolidations`. */
export async function consolidations(
  core: Core,
  namespace: string,
  request: ConsolidationsRequest,
): Promise<ConsolidationsResponse> {
  assertValid(checkMany, request);
  const page = await core.storage.runs(namespace, pageRequest(core, request, runCursors, { namespace }));
  return { consolidations: page.items.map(toConsolidation), ...pageEnd(core, page, runCursors, { namespace }) };
}

/** See `MemoryApi.consolidation`. */
export async function consolidation(
  core: Core,
  namespace: string,
  request: ConsolidationRequest,
): Promise<ConsolidationResponse> {
  assertValid(checkOne, request);
  assertConsolidationId(request.id);
  const selection = { namespace, filters: { id: request.id } };
  const page = pageRequest(core, request, changeCursors, selection);
  const run = await core.storage.run(namespace, request.id);
  if (!run) throw consolidationNotFound();
  const changes = await core.storage.changes(namespace, run.no, page);
  return {
    ...toConsolidation(run),
    changes: changes.items.map(toChange),
    ...pageEnd(core, changes, changeCursors, selection),
    ...(run.state === 'completed' && {
      later: toLater(await core.storage.laterRuns(namespace, run.no, LIMITS.laterConsolidations)),
    }),
  };
}

function toLater({ total, items }: Preview<LaterRun>): LaterConsolidations {
  return { total, consolidations: items.map(({ id, startedAt }) => ({ id, started_at: toTimestamp(startedAt) })) };
}

/** See `MemoryApi.undo`. */
export async function undo(
  core: Core,
  namespace: string,
  consolidationId: string,
  request: UndoRequest = {},
): Promise<UndoResponse> {
  assertValid(checkUndo, request);
  assertConsolidationId(consolidationId);
  if (request.memory_id !== undefined) return undoOfMemory(core, namespace, consolidationId, request);
  const result = await core.consolidator.undo(namespace, consolidationId, request.with_later);
  if (result.outcome !== 'begun') throw toUndoError(result);
  const { alsoUndone } = result;
  return { status: 'undone', id: consolidationId, ...(alsoUndone.length > 0 && { also_undone: alsoUndone }) };
}

async function undoOfMemory(
  core: Core,
  namespace: string,
  id: string,
  { memory_id: memoryId = '', with_later }: UndoRequest,
): Promise<UndoResponse> {
  if (with_later) throw invalidRequest([{ path: '/with_later', message: 'with_later must not come with memory_id' }]);
  const result = await core.consolidator.undoOfMemory(namespace, id, memoryId);
  switch (result.outcome) {
    case 'undone':
      return { status: 'undone', id };
    case 'unchanged':
      throw new MemoryError('NOT_FOUND', 'the consolidation has no change of this memory that is not undone');
    case 'newer':
      throw new MemoryError(
        'CONFLICT',
        `a later consolidation has changed the memory too: undo the changes of ${result.id} first`,
      );
    default:
      throw toUndoError({ ...result, alsoUndone: [] });
  }
}

function toUndoError(result: Exclude<UndoResult, { outcome: 'begun' }>): MemoryError {
  if (result.outcome === 'unknown') return consolidationNotFound();
  const { alsoUndone, refusedBy } = result;
  const subject = refusedBy === undefined ? 'the consolidation' : `the later consolidation ${refusedBy}`;
  const undone = alsoUndone.map((id) => ({ path: `/consolidations/${id}`, message: `consolidation ${id} was undone` }));
  const written = result.outcome === 'written' ? result.ids : [];
  const details = [
    ...written.map((id) => ({ path: `/memories/${id}`, message: `memory ${id} has been updated since` })),
    ...undone,
  ];
  const outcome =
    undone.length === 0
      ? ''
      : `; later consolidations that were undone before: ${undone.length}, the last one ${alsoUndone.at(-1)}`;
  return new MemoryError(
    'CONFLICT',
    `${subject} ${getRefusal(result)}${outcome}`,
    details.length > 0 ? { details } : {},
  );
}

/** Returns the reason of a refused undo, as the predicate of a sentence. */
function getRefusal(result: Exclude<UndoOutcome, { outcome: 'begun' | 'unknown' }>): string {
  switch (result.outcome) {
    case 'not-completed':
      return `must be completed to be undone, but is ${result.state}${result.state === 'running' ? '; the next consolidation completes it' : ''}`;
    case 'too-old':
      return 'is older than the archive retention period (archiveDays) and can no longer be undone';
    case 'newer':
      return `can only be undone after later ones: undo ${result.id} first, or set with_later (--with-later) to undo all later consolidations with it`;
    case 'written':
      return 'can no longer be undone, because memories that the run changed have been updated since';
  }
}

/**
 * Throws NOT_FOUND for an id with U+0000 or a lone surrogate, since SQLite and PostgreSQL treat such an id differently.
 */
function assertConsolidationId(consolidationId: string): void {
  if (!isStorable(consolidationId)) throw consolidationNotFound();
}

function consolidationNotFound(): MemoryError {
  return new MemoryError('NOT_FOUND', 'consolidation not found');
}

function toConsolidation(run: ConsolidationRun): Consolidation {
  return {
    id: run.id,
    status: run.state,
    started_at: toTimestamp(run.startedAt),
    ended_at: toTimestampOrNull(run.endedAt),
    ...toCounts(run),
    notes: run.notes,
  };
}

function toChange({ kind, id, mergedInto, derivedFrom, supersededBy, reason, before }: RunChange): ConsolidationChange {
  return {
    kind,
    memory_id: id,
    ...(mergedInto !== undefined && { merged_into: mergedInto }),
    ...(derivedFrom && { derived_from: derivedFrom }),
    ...(supersededBy !== undefined && { superseded_by: supersededBy }),
    ...(reason && { reason }),
    ...(before && { before }),
  };
}
