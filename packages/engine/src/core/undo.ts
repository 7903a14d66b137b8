import { MemoryError, type UndoResponse } from '@memoryd/contract';
import type { UndoOutcome } from '../ports/storage-runs.ts';
import { assertConsolidationId, consolidationNotFound } from './consolidations.ts';
import type { Core } from './core.ts';

/** See `MemoryApi.undo`. */
export async function undo(core: Core, namespace: string, consolidationId: string): Promise<UndoResponse> {
  assertConsolidationId(consolidationId);
  const undone = await core.sleeper.undo(namespace, consolidationId);
  if (undone.outcome !== 'begun') throw refusal(undone);
  return { status: 'undone', id: consolidationId };
}

function refusal(refused: Exclude<UndoOutcome, { outcome: 'begun' }>): MemoryError {
  switch (refused.outcome) {
    case 'unknown':
      return consolidationNotFound();
    case 'not-completed':
      return conflict(`the consolidation is ${refused.state}`);
    case 'too-old':
      return conflict('the consolidation is older than the archive goes');
    case 'newer':
      return conflict(`consolidation ${refused.id} came later and has to be undone first`);
    case 'written':
      return conflict(
        'memories that the consolidation changed have been written since',
        refused.ids.map((id) => ({ path: `/memories/${id}`, message: `memory ${id} has been written since` })),
      );
  }
}

function conflict(message: string, details?: { path: string; message: string }[]): MemoryError {
  return new MemoryError('CONFLICT', message, details && { details });
}
