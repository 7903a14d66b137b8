import { NO_ROW, type Signals } from '../../ports/storage-search.ts';
import { lowerTo, type Standing } from './standing.ts';

/**
 * Puts every semantic memory below all of its admitted sources, in place: it gets the lowest of their scores where its
 * own is higher, and counts as having them above it, so that it takes no place that one of them would have without it.
 */
export function placeBelowSources(standing: Standing, { distilledInto }: Signals): void {
  const { above } = standing;
  for (let source = 0; source < above.length; source += 1) {
    const semantic = distilledInto[source] as number;
    if (semantic === NO_ROW) continue;
    lowerTo(standing, semantic, source);
    above[semantic] = Math.max(above[semantic] as number, (above[source] as number) + 1);
  }
}

/** The semantic memories that have a source among the admitted rows. */
export function distilledAmong({ distilledInto }: Signals): ReadonlySet<number> {
  const distilled = new Set<number>();
  for (const semantic of distilledInto) if (semantic !== NO_ROW) distilled.add(semantic);
  return distilled;
}
