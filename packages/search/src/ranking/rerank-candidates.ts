import { getConversationRows } from './conversation.ts';
import { rank } from './rank.ts';
import type { Ranking } from './ranking.ts';
import { getDistilledRows } from './scores.ts';
import { NO_ROW, type Signals } from './signals.ts';

/** A memory whose text a reranker compares with the query. */
export interface RerankCandidate {
  ordinal: number;
  /** Ordinal of the turn before, if the memory is part of a conversation and has one. */
  previous?: number;
}

/**
 * Returns the first `max` memories of the pool in the order of `rank`. Memories of the tail are left out, so that scores
 * do not depend on the limit of a request. Semantic memories with sources among the candidates are left out too, since
 * they rank below these sources and take no source's place.
 */
export function getRerankCandidates(
  signals: Signals,
  { intent, scale }: Pick<Ranking, 'intent' | 'scale'>,
  max: number,
): RerankCandidate[] {
  const { pool, candidateCount, ordinals, previous } = signals;
  const distilled = getDistilledRows(signals);
  const isInConversation = getConversationRows(signals, distilled);
  return rank(signals, { limit: candidateCount, intent, scale })
    .filter(({ row }) => row < pool && !distilled.has(row))
    .slice(0, max)
    .map(({ row }) => {
      const before = isInConversation[row] ? (previous[row] as number) : NO_ROW;
      return { ordinal: ordinals[row] as number, ...(before !== NO_ROW && { previous: ordinals[before] as number }) };
    });
}

/**
 * Returns signals with the probabilities of a reranker, for a second ranking.
 *
 * @param probabilities from 0 to 1, by ordinal
 */
export function withReranks(signals: Signals, probabilities: ReadonlyMap<number, number>): Signals {
  const ordinals = signals.ordinals.subarray(0, signals.candidateCount);
  return { ...signals, reranks: ordinals.map((ordinal) => probabilities.get(ordinal) ?? Number.NaN) };
}
