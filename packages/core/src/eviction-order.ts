import type { RetainedMemory } from './ports/storage-consolidation.ts';

/**
 * Compares memories in the order of eviction: what no longer holds first, oldest first, so that a correction is never
 * evicted before what it corrects; then the lowest retention, then the older memory.
 */
export function compareForEviction(a: RetainedMemory, b: RetainedMemory): number {
  const byRetention = a.evictionRank === 0 ? 0 : a.retention - b.retention;
  return a.evictionRank - b.evictionRank || byRetention || a.ordinal - b.ordinal;
}
