import { createRelevanceLookup, type Dataset, getContent, type Question, type Store } from '../dataset.ts';
import { showProgress } from '../progress.ts';
import { pairedBootstrap } from '../quality/bootstrap.ts';
import { meanScores, RESULTS, type Scores, scoreRanking } from '../quality/metrics.ts';
import type { PeerKind } from './peer.ts';
import type { SharedEmbedder } from './shared-embedder.ts';
import { askPeer, fillPeer, withPeer } from './work.ts';

export interface PeersContext {
  /** The compared products, memoryd first. */
  kinds: readonly PeerKind[];
  embedder: SharedEmbedder;
  /** Time limit in seconds. Filling a peer and querying a peer each get the full limit. */
  limitS: number;
  signal: AbortSignal;
}

const SHOWN_SCORES = ['nDCG@10', 'r@10', 'any@5'] as const;

/** Scores of one peer on one set: one line of output. */
export type QualityLine = Record<string, unknown>;

/** Fills every peer with each store of a data set, and scores the results of the peer. */
export async function measureQuality(set: Dataset, context: PeersContext): Promise<QualityLine[]> {
  const byKind = context.kinds.map((): (Scores | null)[] => []);
  for (const store of set.stores) {
    await context.embedder.prepare(store.turns.map(getContent));
    for (const [index, kind] of context.kinds.entries()) {
      byKind[index]?.push(...(await askStore(`${set.name}/${store.name}`, store, kind, context)));
    }
    context.embedder.forget();
  }
  const first = byKind[0] ?? [];
  return context.kinds.map((kind, index) => qualityLine(set, kind, byKind[index] ?? [], index > 0 ? first : undefined));
}

/**
 * Returns the scores of the questions that have an answer in the store; null for questions that were not asked because
 * of a time limit.
 */
async function askStore(
  label: string,
  store: Store,
  kind: PeerKind,
  { embedder, limitS, signal }: PeersContext,
): Promise<(Scores | null)[]> {
  const relevantTo = createRelevanceLookup(store);
  const questions = store.questions.filter((question) => relevantTo(question).size > 0);
  const memories = store.turns.map((turn) => ({ ...turn, content: getContent(turn) }));
  const progress = showProgress(`${kind.name} ${label}`, memories.length + questions.length);
  const bounds = { limitS, signal, progress };
  try {
    const answers = await withPeer(kind, { embedder, signal }, async (peer) => {
      const { stored } = await fillPeer(peer, kind, memories, bounds);
      if (stored < memories.length) return [];
      return (await askPeer(peer, questions.map(getText), RESULTS, bounds)).answers;
    });
    return questions.map((question, index) => {
      const answer = answers[index];
      return answer === undefined ? null : scoreRanking(answer, relevantTo(question));
    });
  } finally {
    progress.end();
  }
}

function getText({ text }: Question): string {
  return text;
}

function qualityLine(
  set: Dataset,
  { name, version, use }: PeerKind,
  all: (Scores | null)[],
  first: (Scores | null)[] | undefined,
): QualityLine {
  const scored = all.filter((scores) => scores !== null);
  const means = meanScores(scored);
  return {
    part: 'quality',
    set: set.name,
    peer: name,
    version,
    use,
    questions: scored.length,
    questions_to_ask: all.length,
    limited: scored.length < all.length,
    ...Object.fromEntries(SHOWN_SCORES.map((score) => [score, scored.length > 0 ? round(means[score]) : null])),
    ...(first && differenceFrom(first, all)),
  };
}

/**
 * Returns the mean difference in nDCG@10 between the first peer and another peer, with a 95 % interval, over the
 * questions that both peers answered. Positive if the first peer is better.
 */
function differenceFrom(first: (Scores | null)[], all: (Scores | null)[]): QualityLine {
  const differences = all.flatMap((scores, index) => {
    const other = first[index];
    return scores && other ? [other['nDCG@10'] - scores['nDCG@10']] : [];
  });
  if (differences.length === 0) return {};
  const { mean, low, high } = pairedBootstrap(differences);
  return { memoryd_ahead: { 'nDCG@10': round(mean), low: round(low), high: round(high) } };
}

function round(score: number): number {
  return Number(score.toFixed(4));
}
