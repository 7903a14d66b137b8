/*
 * Conditions on `memory m` that read alike in every adapter.
 */

/** In a tier: neither merged into a twin nor evicted. Expiry is apart, for it depends on the time. */
export const IN_TIER = 'm.merged_into IS NULL AND m.evicted_at IS NULL';

/**
 * What a memory of the episodic tier must be for others to be distilled from it. What expires is left out, since its
 * words would outlive it, and so is what another memory corrects.
 */
export const DISTILLABLE = `m.expires_at IS NULL AND m.superseded_by IS NULL AND ${IN_TIER}`;
