import type { RetainedMemory } from './ports/storage-consolidation.ts';

/**
 * Compares memories in the order of eviction: what no longer holds first, then the lowest retention, then the older
 * memory.
 */
export function compareForEviction(a: RetainedMemory, b: RetainedMemory): number {
  return a.evictionRank - b.evictionRank || a.retention - b.retention || a.ordinal - b.ordinal;
}
