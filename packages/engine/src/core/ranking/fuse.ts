import type { Signals } from '../../ports/storage.ts';
import { wordMatches } from './bm25.ts';
import { WEIGHTS } from './weights.ts';

/** The largest sum of all parts, for which the score would be 1. */
const LARGEST = (1 + WEIGHTS.cosine) * (1 + WEIGHTS.neighbour + WEIGHTS.session);

/**
 * A score from 0 to 1 for each admitted row. It adds up what a memory's own words and meaning say, what those of the
 * better neighbour in its session say and what those of the best memory of its session in the pool say, and takes off
 * a little where the text is very short. The root of the sum, as a part of the largest possible, is the score.
 */
export function scores(signals: Signals): Float64Array {
  const { previous, next, sessions, lengths } = signals;
  const own = ownRelevance(signals);
  const best = bestOfSessions(signals, own);
  const fused = new Float64Array(signals.admitted);
  for (let row = 0; row < fused.length; row += 1) {
    const relevance = own[row] as number;
    const neighbour = Math.max(valueAt(own, previous[row] as number), valueAt(own, next[row] as number));
    // A memory in no session is a session of its own.
    const session = Math.max(best.get(sessions[row] as number) ?? 0, relevance);
    const sum = relevance + WEIGHTS.neighbour * neighbour + WEIGHTS.session * session;
    fused[row] = Math.sqrt(Math.max(0, sum - brevity(lengths[row] as number)) / LARGEST);
  }
  return fused;
}

function ownRelevance(signals: Signals): Float64Array {
  const relevance = wordMatches(signals);
  for (let row = 0; row < relevance.length; row += 1) {
    const cosine = signals.cosines[row] as number;
    const known = Number.isNaN(cosine) ? WEIGHTS.unknownCosine : Math.min(1, Math.max(0, cosine));
    relevance[row] = (relevance[row] as number) + WEIGHTS.cosine * known;
  }
  return relevance;
}

function bestOfSessions({ pool, sessions }: Signals, own: Float64Array): Map<number, number> {
  const best = new Map<number, number>();
  for (let row = 0; row < pool; row += 1) {
    const session = sessions[row] as number;
    if (session >= 0) best.set(session, Math.max(best.get(session) ?? 0, own[row] as number));
  }
  return best;
}

function brevity(length: number): number {
  const { weight, below } = WEIGHTS.brevity;
  return length + 1 < below ? weight * Math.log(below / (length + 1)) : 0;
}

function valueAt(values: Float64Array, row: number): number {
  return row < 0 ? 0 : (values[row] as number);
}
