/*
 * Conditions on `memory m` that read alike in every adapter.
 */

/** In a tier: neither merged into a twin nor evicted. Expiry is apart, for it depends on the time. */
export const IN_TIER = 'm.merged_into IS NULL AND m.evicted_at IS NULL';

/** In the working tier. */
export const WORKING = `m.tier = 'working' AND ${IN_TIER}`;

/**
 * What a memory of the episodic tier must be for others to be distilled from it. What expires is left out, since its
 * words would outlive it, and so is what another memory corrects.
 */
export const DISTILLABLE = `m.expires_at IS NULL AND m.superseded_by IS NULL AND ${IN_TIER}`;

/** What may be merged at all: a memory that takes part in a correction stays apart, since it says what corrects what. */
export const MERGEABLE = `${IN_TIER} AND m.tier <> 'semantic' AND m.supersedes IS NULL AND m.superseded_by IS NULL`;

/**
 * What makes two rows of `memory` in one session twins, but for equal digests of unequal texts. Those that expire at
 * different times, or that a filter by source or metadata tells apart, are none: merging them would hide a text earlier
 * than its client said, or from who looks for it by its labels.
 */
export function alike(one: string, other: string): string {
  return ['text_digest', 'expires_at', 'source', 'metadata']
    .map((column) => `${one}.${column} IS NOT DISTINCT FROM ${other}.${column}`)
    .join(' AND ');
}
