import type { Signals } from '../../ports/storage.ts';

const NONE = -1;

/**
 * Puts every semantic memory below all of its admitted sources, in place: it gets the lowest of their scores where its
 * own is higher, and counts as having them above it, so that it takes no place that one of them would have without it.
 *
 * @param above how many rows stand above each: of equal scores, the row with fewer goes first
 */
export function placeBelowSources(scores: Float64Array, above: Uint32Array, { distilledInto }: Signals): void {
  for (let source = 0; source < scores.length; source += 1) {
    const semantic = distilledInto[source] as number;
    if (semantic === NONE) continue;
    scores[semantic] = Math.min(scores[semantic] as number, scores[source] as number);
    above[semantic] = Math.max(above[semantic] as number, (above[source] as number) + 1);
  }
}
