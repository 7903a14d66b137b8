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
  isStorable,
  MemoryError,
  type UndoResponse,
} from '@memoryd/contract';
import type { ConsolidationRun, Preview, RunChange, UndoOutcome } from '../ports/storage-consolidation.ts';
import { toCounts } from './consolidation/steps.ts';
import type { Core } from './core.ts';
import { numberCursors, pageEnd, pageRequest } from './cursor.ts';
import { toTimestamp, toTimestampOrNull } from './time.ts';

const checkConsolidate = createCheck(ConsolidateRequest, 'request');
const checkMany = createCheck(ConsolidationsRequest, 'request');
const checkOne = createCheck(ConsolidationRequest, 'request', ['id']);
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
  };
}

/** See `MemoryApi.undo`. */
export async function undo(core: Core, namespace: string, consolidationId: string): Promise<UndoResponse> {
  assertConsolidationId(consolidationId);
  const undone = await core.consolidator.undo(namespace, consolidationId);
  if (undone.outcome !== 'begun') throw toUndoError(undone);
  return { status: 'undone', id: consolidationId };
}

function toUndoError(outcome: Exclude<UndoOutcome, { outcome: 'begun' }>): MemoryError {
  switch (outcome.outcome) {
    case 'unknown':
      return consolidationNotFound();
    case 'not-completed':
      return new MemoryError('CONFLICT', `the consolidation must be completed to be undone, but is ${outcome.state}`);
    case 'too-old':
      return new MemoryError(
        'CONFLICT',
        'the consolidation is older than the archive retention period (archiveDays) and can no longer be undone',
      );
    case 'newer':
      return new MemoryError(
        'CONFLICT',
        `consolidations must be undone in reverse order; undo the later consolidation ${outcome.id} first`,
      );
    case 'written':
      return new MemoryError(
        'CONFLICT',
        'the consolidation can no longer be undone, because memories that the run changed have been updated since',
        {
          details: outcome.ids.map((id) => ({
            path: `/memories/${id}`,
            message: `memory ${id} has been updated since`,
          })),
        },
      );
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
