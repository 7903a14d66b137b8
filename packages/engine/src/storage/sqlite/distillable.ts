import { IN_TIER } from './row.ts';

/**
 * What a memory of the episodic tier must be for others to be distilled from it. What expires is left out, since its
 * words would outlive it, and so is what another memory corrects.
 */
export const DISTILLABLE = `m.expires_at IS NULL AND m.superseded_by IS NULL AND ${IN_TIER}`;
