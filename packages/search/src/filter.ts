import type { Tier } from '@memoryd/contract';
import type { OwnerFilter } from './owner.ts';

/** Matches memories that meet all present conditions. `since` and `until` are inclusive and compare `createdAt`. */
export interface MemoryFilter extends OwnerFilter {
  /**
   * The first or last characters of the id, ASCII only. If set, the filter also matches memories that were merged into
   * another memory.
   */
  idPart?: string;
  tags?: string[];
  tier?: Tier;
  sessionId?: string;
  source?: string;
  since?: number;
  until?: number;
  metadata?: Record<string, string>;
  /** False excludes superseded memories. */
  superseded?: false;
}

/** Returns true if the filter has no condition. */
export function isOpen(filter: MemoryFilter): boolean {
  return Object.values(filter).every((condition) => condition === undefined);
}
