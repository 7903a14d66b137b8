import { groupByOwner } from '@memoryd/search';
import { findCorrections } from '../distil/corrections.ts';
import type { IdSource } from '../ports/runtime.ts';
import type { Storage } from '../ports/storage.ts';
import type { DistilCandidate, RunRef } from '../ports/storage-consolidation.ts';
import type { NewCorrection } from '../ports/storage-corrections.ts';

/** Maximum neighbors of a candidate that are compared with it, nearest first. */
const MAX_COMPARED = 16;

/** Maximum characters of a text that are compared. A longer text states more than one fact. */
const MAX_CHARS = 1000;

/** Maximum pending suggestions of a user and agent, so that a list stays short enough to be read. */
const MAX_PENDING = 100;

/**
 * Compares new and changed memories with their nearest neighbors, and suggests corrections. The work is bounded by the
 * number of candidates that a run examines.
 *
 * @param candidates memories that a run has read for distilling
 * @returns the number of new suggestions
 */
export async function suggestCorrections(
  { storage, ids }: { storage: Storage; ids: IdSource },
  run: RunRef,
  candidates: readonly DistilCandidate[],
  at: number,
): Promise<number> {
  let suggested = 0;
  for (const [owner, owned] of groupByOwner(candidates)) {
    const nearest = owned.map(({ ordinal, neighbors }) => ({
      ordinal,
      neighbors: neighbors.toSorted((a, b) => b.cosine - a.cosine).slice(0, MAX_COMPARED),
    }));
    const ordinals = new Set(
      nearest.flatMap(({ ordinal, neighbors }) => [ordinal, ...neighbors.map((near) => near.ordinal)]),
    );
    const compared = await storage.comparedMemories(run.namespace, [...ordinals], MAX_CHARS);
    const found = findCorrections(nearest, compared);
    if (found.length === 0) continue;
    const corrections = found.map((correction): NewCorrection => ({ id: ids.next(), ...correction }));
    suggested += await storage.suggestCorrections(run, owner, corrections, { at, maxPending: MAX_PENDING });
  }
  return suggested;
}
