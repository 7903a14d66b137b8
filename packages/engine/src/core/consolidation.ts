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
  isKeepable,
  MemoryError,
  type UndoResponse,
} from '@memoryd/contract';
import type { ConsolidationRun, Planned, RunChange, UndoOutcome } from '../ports/storage-consolidation.ts';
import { toCounts } from './consolidation/steps.ts';
import type { Core } from './core.ts';
import { numberCursors, pageEnd, pageRequest } from './cursor.ts';
import { toTimestamp, toTimestampOrNull } from './time.ts';

const checkConsolidate = createCheck(ConsolidateRequest, 'request');
const checkMany = createCheck(ConsolidationsRequest, 'request');
const checkOne = createCheck(ConsolidationRequest, 'request', ['id']);
const runCursors = numberCursors('consolidations');
const changeCursors = numberCursors('changes');

/** See `MemoryApi.consolidate`. Whoever calls means now: without an age, every working memory promotes. */
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
  const made = distil.items.filter(({ refreshes }) => refreshes === undefined).length;
  const counts = { promoted: promote.total, distilled: made, merged: merge.total, evicted: evict.total };
  return { status: 'planned', ...toCounts({ counts }), plan };
}

function toPlanned<Item, Named>({ total, items }: Planned<Item>, toNamed: (item: Item) => Named) {
  return { total, memories: items.map(toNamed) };
}

/** See `MemoryApi.consolidations`. */
export async function consolidations(
  core: Core,
  namespace: string,
  request: ConsolidationsRequest,
): Promise<ConsolidationsResponse> {
  assertValid(checkMany, request);
  const page = await core.storage.runs(namespace, pageRequest(core, request, runCursors));
  return { consolidations: page.items.map(toConsolidation), ...pageEnd(core, request, page, runCursors) };
}

/** See `MemoryApi.consolidation`. */
export async function consolidation(
  core: Core,
  namespace: string,
  request: ConsolidationRequest,
): Promise<ConsolidationResponse> {
  assertValid(checkOne, request);
  assertConsolidationId(request.id);
  const page = pageRequest(core, request, changeCursors);
  const run = await core.storage.run(namespace, request.id);
  if (!run) throw consolidationNotFound();
  const changes = await core.storage.changes(namespace, run.no, page);
  return {
    ...toConsolidation(run),
    changes: changes.items.map(toChange),
    ...pageEnd(core, request, changes, changeCursors),
  };
}

/** See `MemoryApi.undo`. */
export async function undo(core: Core, namespace: string, consolidationId: string): Promise<UndoResponse> {
  assertConsolidationId(consolidationId);
  const undone = await core.consolidator.undo(namespace, consolidationId);
  if (undone.outcome !== 'begun') throw refusal(undone);
  return { status: 'undone', id: consolidationId };
}

function refusal(refused: Exclude<UndoOutcome, { outcome: 'begun' }>): MemoryError {
  switch (refused.outcome) {
    case 'unknown':
      return consolidationNotFound();
    case 'not-completed':
      return new MemoryError('CONFLICT', `the consolidation is ${refused.state}`);
    case 'too-old':
      return new MemoryError('CONFLICT', 'the consolidation is older than the archive goes');
    case 'newer':
      return new MemoryError('CONFLICT', `consolidation ${refused.id} came later and has to be undone first`);
    case 'written':
      return new MemoryError('CONFLICT', 'memories that the consolidation changed have been written since', {
        details: refused.ids.map((id) => ({ path: `/memories/${id}`, message: `memory ${id} has been written since` })),
      });
  }
}

/** Throws NOT_FOUND for an id that no consolidation can have; databases differ in what they make of one. */
function assertConsolidationId(consolidationId: string): void {
  if (!isKeepable(consolidationId)) throw consolidationNotFound();
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
