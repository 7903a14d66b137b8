import type { Signals } from '../../ports/storage-search.ts';
import type { EvidenceColumns } from './evidence-columns.ts';
import { sumsOf } from './score.ts';
import { distilledAmong } from './sources.ts';

/**
 * 1 for each admitted row whose text a better one says, else 0: of equal texts the best stands, and the newest of those
 * that are as good. No row repeats one of the tail unless it is of the tail, nor a semantic memory with admitted sources, so
 * that neither moves a score of the others.
 */
export function repeatsOf(evidence: EvidenceColumns, signals: Signals): Float64Array {
  const { texts, pool } = signals;
  const standing = standingByText(sumsOf(evidence), signals);
  const repeats = new Float64Array(texts.length);
  for (let row = 0; row < texts.length; row += 1) {
    const best = standing.get(texts[row] as number) ?? row;
    if (best !== row && (best < pool || row >= pool)) repeats[row] = 1;
  }
  return repeats;
}

/** For each text the row that stands: one of the pool before one of the tail, then the best, then the newest. */
function standingByText(sums: Float64Array, signals: Signals): Map<number, number> {
  const { texts, ordinals, pool } = signals;
  const distilled = distilledAmong(signals);
  const standing = new Map<number, number>();
  for (let row = 0; row < texts.length; row += 1) {
    if (distilled.has(row)) continue;
    const other = standing.get(texts[row] as number);
    if (other === undefined) standing.set(texts[row] as number, row);
    // The pool has come first, and no row of the tail takes the place of one of its rows.
    else if ((row < pool || other >= pool) && isBetter(row, other)) standing.set(texts[row] as number, row);
  }
  return standing;

  function isBetter(row: number, other: number): boolean {
    const [sum, otherSum] = [sums[row] as number, sums[other] as number];
    return sum === otherSum ? (ordinals[row] as number) > (ordinals[other] as number) : sum > otherSum;
  }
}
