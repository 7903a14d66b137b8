import type { Consolidation } from '@memoryd/client';
import { formatMemories, formatNumber } from '../format.ts';

const STATES: Readonly<Record<Consolidation['status'], string>> = {
  running: 'Running',
  completed: 'Completed',
  undoing: 'Undoing',
  undone: 'Undone',
  reverted: 'Rolled back',
};

export function RunState({ run: { status } }: { run: Pick<Consolidation, 'status'> }) {
  return <span className={`state state-${status}`}>{STATES[status]}</span>;
}

/** Returns a one-line summary of a run. */
export function getSummary({ consolidated_count: consolidated, evicted_count: removed }: Consolidation): string {
  const promoted = formatMemories(consolidated);
  return `${promoted} promoted or distilled, ${formatNumber(removed)} merged or evicted`;
}
