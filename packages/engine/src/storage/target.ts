import type { Tier } from '@memoryd/contract';
import type { MemoryChange } from '../ports/storage-memories.ts';

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

/** What a change of a memory comes to. */
export interface UpdatePlan {
  /** The text that it gets; undefined where it keeps its own. */
  newText: string | undefined;
  newExpiry: boolean;
  newMetadata: boolean;
  /** Whether its twins are no longer as it is, so that each stands for itself. */
  partsTwins: boolean;
  /** Whether it was merged into a twin and now stands for itself: different, or to be found by tags of its own. */
  leavesTwin: boolean;
}

/** What a change of a memory would do, or why it is not made. */
export function planUpdate(target: Target, change: MemoryChange): UpdatePlan | 'unknown' | 'stale' {
  if (isHidden(target, change.at)) return 'unknown';
  if (!isCurrent(target, change.ifVersions)) return 'stale';
  const newText = change.content !== target.content ? change.content : undefined;
  const newExpiry = change.expiresAt !== undefined && change.expiresAt !== target.expiresAt;
  const newMetadata = change.metadata !== undefined && JSON.stringify(change.metadata) !== target.metadata;
  const partsTwins = newText !== undefined || newExpiry || newMetadata;
  const leavesTwin = target.mergedInto !== null && (partsTwins || change.tags !== undefined);
  return { newText, newExpiry, newMetadata, partsTwins, leavesTwin };
}

/** Whether one memory may be kept as a correction of another: each names one that it corrects at most. */
export function mayCorrect(right: Target, wrong: Target): boolean {
  return right.ordinal !== wrong.ordinal && right.supersedes === null;
}

function isHidden(target: Target, now: number): boolean {
  return target.evictedAt !== null || (target.expiresAt !== null && target.expiresAt <= now);
}

/** Whether a caller who has seen `versions` may write: any of them is the present one, or none was named. */
export function isCurrent(target: Target, versions: readonly number[] | undefined): boolean {
  return versions === undefined || versions.includes(target.version);
}
