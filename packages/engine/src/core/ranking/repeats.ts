import type { Signals } from '../../ports/storage-search.ts';
import type { EvidenceColumns } from './evidence-columns.ts';
import { sumsOf } from './score.ts';

/**
 * 1 for each admitted row whose text a better one says, else 0: of equal texts the best stands, and the newest of those
 * that are as good. No row repeats one of the tail unless it is of the tail, nor a semantic memory with admitted sources, so
 * that neither moves a score of the others.
 */
export function repeatsOf(evidence: EvidenceColumns, signals: Signals): Float64Array {
  const { texts, ordinals, pool } = signals;
  const repeats = new Float64Array(texts.length);
  if (new Set(texts).size === texts.length) return repeats;
  const sums = sumsOf(evidence);
  const distilled = new Set(signals.distilledInto);
  const rows = [...texts.keys()].sort(
    (left, right) =>
      Number(left >= pool) - Number(right >= pool) ||
      Number(distilled.has(left)) - Number(distilled.has(right)) ||
      (sums[right] as number) - (sums[left] as number) ||
      (ordinals[right] as number) - (ordinals[left] as number),
  );
  const said = new Set<number>();
  for (const row of rows) {
    const text = texts[row] as number;
    if (said.has(text)) repeats[row] = 1;
    else if (!distilled.has(row)) said.add(text);
  }
  return repeats;
}
