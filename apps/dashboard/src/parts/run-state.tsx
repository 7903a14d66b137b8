import type { Consolidation } from '@memoryd/client';

export function RunState({ run: { status } }: { run: Pick<Consolidation, 'status'> }) {
  return <span className={`state state-${status}`}>{status === 'reverted' ? 'took itself back' : status}</span>;
}

/** What a run came to, in a line. */
export function getSummary({ consolidated_count: promoted, evicted_count: left }: Consolidation): string {
  return `${promoted} promoted or distilled, ${left} left recall`;
}
