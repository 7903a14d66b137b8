import type { Evidence } from '../../ports/ranking.ts';
import { WEIGHTS } from './weights.ts';

const NAMES = Object.keys(WEIGHTS.evidence) as (keyof Evidence)[];

/**
 * The score of a memory, from 0 to 1: the logistic function of the weighted sum of its evidence, set so that a memory
 * of score .5 is as likely relevant as not.
 */
export function scoreOf(evidence: Evidence): number {
  const { even, slope } = WEIGHTS.calibration;
  let sum = 0;
  for (const name of NAMES) sum += WEIGHTS.evidence[name] * evidence[name];
  return 1 / (1 + Math.exp(slope * (even - sum)));
}
