import type { Tier } from '@memoryd/contract';

/** What a write has to know of the memory that it changes. */
export interface Target {
  ordinal: number;
  id: string;
  tier: Tier;
  version: number;
  revision: number;
  /** The revision of the last text that consolidation gave it; null where it never did. */
  distilledRevision: number | null;
  expiresAt: number | null;
  evictedAt: number | null;
  mergedInto: string | null;
  supersedes: string | null;
  content: string;
  tags: string;
  metadata: string;
}

/** Whether a caller who has seen `versions` may write: any of them is the present one, or none was named. */
export function isCurrent(target: Target, versions: readonly number[] | undefined): boolean {
  return versions === undefined || versions.includes(target.version);
}
