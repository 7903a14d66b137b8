import {
  assertValid,
  type Consolidation,
  type ConsolidationChange,
  ConsolidationRequest,
  type ConsolidationResponse,
  ConsolidationsRequest,
  type ConsolidationsResponse,
  checkOf,
  isKeepable,
  MemoryError,
} from '@memoryd/contract';
import type { RunChange, SleepRun } from '../ports/storage-runs.ts';
import type { Core } from './core.ts';
import { numberCursors } from './cursor.ts';
import { pageRequest } from './page-request.ts';
import { consolidatedCount, evictedCount } from './sleep/counts.ts';
import { toTimestamp, toTimestampOrNull } from './timestamp.ts';

const checkMany = checkOf(ConsolidationsRequest, 'request');
const checkOne = checkOf(ConsolidationRequest, 'request', ['id']);
const runCursors = numberCursors('consolidations');
const changeCursors = numberCursors('changes');

/** See `MemoryApi.consolidations`. */
export async function consolidations(
  core: Core,
  namespace: string,
  request: ConsolidationsRequest,
): Promise<ConsolidationsResponse> {
  assertValid(checkMany, request);
  const page = await core.storage.runs(namespace, pageRequest(core, request, runCursors));
  return {
    consolidations: page.items.map(toConsolidation),
    total: page.total,
    ...(page.next !== undefined && { next_cursor: runCursors.write(core.seal, page.next) }),
  };
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
    changes: changes.items.map(toConsolidationChange),
    total: changes.total,
    ...(changes.next !== undefined && { next_cursor: changeCursors.write(core.seal, changes.next) }),
  };
}

/** Throws NOT_FOUND for an id that no consolidation can have; databases differ in what they make of one. */
export function assertConsolidationId(consolidationId: string): void {
  if (!isKeepable(consolidationId)) throw consolidationNotFound();
}

/** NOT_FOUND; the id is the caller's own and is not repeated. */
export function consolidationNotFound(): MemoryError {
  return new MemoryError('NOT_FOUND', 'consolidation not found');
}

function toConsolidation(run: SleepRun): Consolidation {
  return {
    id: run.id,
    status: run.state,
    started_at: toTimestamp(run.startedAt),
    ended_at: toTimestampOrNull(run.endedAt),
    consolidated_count: consolidatedCount(run),
    evicted_count: evictedCount(run),
    notes: run.notes,
  };
}

function toConsolidationChange({
  kind,
  id,
  mergedInto,
  derivedFrom,
  supersededBy,
  reason,
  before,
}: RunChange): ConsolidationChange {
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
