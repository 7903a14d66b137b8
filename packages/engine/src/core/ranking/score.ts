import { EVIDENCE, type EvidenceColumns } from './evidence-columns.ts';
import { WEIGHTS } from './weights.ts';

/** The weighted sum of the evidence for each row. */
export function sumsOf(evidence: EvidenceColumns): Float64Array {
  const sums = new Float64Array(evidence.words.length);
  for (const name of EVIDENCE) {
    const [weight, values] = [WEIGHTS.evidence[name], evidence[name]];
    for (let row = 0; row < sums.length; row += 1) sums[row] = (sums[row] as number) + weight * (values[row] as number);
  }
  return sums;
}

/**
 * The score of each row, from 0 to 1: the logistic function of the weighted sum of its evidence, set so that a memory
 * of score .5 is as likely relevant as not.
 */
export function scoresOf(evidence: EvidenceColumns): Float64Array {
  const { even, slope } = WEIGHTS.calibration;
  return sumsOf(evidence).map((sum) => 1 / (1 + Math.exp(slope * (even - sum))));
}
