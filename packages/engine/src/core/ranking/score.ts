import type { Evidence } from './evidence.ts';
import { WEIGHTS } from './weights.ts';

/**
 * The score of a memory, from 0 to 1: the logistic function of the weighted sum of its evidence, set so that a memory
 * of score .5 is as likely relevant as not.
 */
export function scoreOf(evidence: Evidence): number {
  const { even, slope } = WEIGHTS.calibration;
  let sum = 0;
  for (const [name, weight] of Object.entries(WEIGHTS.evidence)) sum += weight * evidence[name as keyof Evidence];
  return 1 / (1 + Math.exp(slope * (even - sum)));
}
