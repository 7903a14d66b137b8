import { performance } from 'node:perf_hooks';
import { withUnit } from '../latency/calibration.ts';
import type { Dialogue } from '../latency/dialogue.ts';
import { type Figures, percentilesMs, roundFigure } from '../latency/figures.ts';
import { createQuestionSource } from '../latency/question-source.ts';
import { TOP_K } from '../latency/recall-load.ts';
import { showProgress } from '../progress.ts';
import type { PeerKind, PeerMemory } from './peer.ts';
import type { PeersContext } from './quality.ts';
import { askPeer, fillPeer, withPeer } from './work.ts';

export interface TimesPlan {
  dialogue: Dialogue;
  /** Number of memories to store. */
  count: number;
  queries: number;
  seed: number;
}

/** Called with each output line after its measurement. */
export type OnLine = (line: Figures) => void;

const WARM_UP_QUERIES = 5;

interface Work {
  memories: PeerMemory[];
  questions: string[];
  embeddingsPerS: number;
}

/** Measures how fast every peer stores the same memories and answers the same questions. */
export async function measureTimes(plan: TimesPlan, context: PeersContext, onLine: OnLine): Promise<void> {
  const memories = Array.from({ length: plan.count }, (_, index) => getMemory(plan.dialogue, index));
  const ask = createQuestionSource(plan.dialogue, plan.count, plan.seed);
  const questions = Array.from({ length: WARM_UP_QUERIES + plan.queries }, ask);
  const embeddingsPerS = await measureEmbedding(memories, questions, context, onLine);
  let first: Figures | undefined;
  for (const kind of context.kinds) {
    const figures = await withUnit(() => measureOrFail({ memories, questions, embeddingsPerS }, kind, context));
    onLine({
      part: 'times',
      peer: kind.name,
      version: kind.version,
      use: kind.use,
      ...figures,
      ...ratios(first, figures),
    });
    first ??= figures;
  }
  context.embedder.forget();
}

function getMemory(dialogue: Dialogue, index: number): PeerMemory {
  const { content, sessionId } = dialogue.turn(index);
  return { content, session: sessionId, timestamp: null };
}

/** Measures the shared embedder, whose time is the same for all peers that use its vectors. */
async function measureEmbedding(
  memories: PeerMemory[],
  questions: string[],
  { embedder, signal }: PeersContext,
  onLine: OnLine,
): Promise<number> {
  const progress = showProgress('embedding for all peers', memories.length);
  const startMs = performance.now();
  await embedder.prepare(
    memories.map(({ content }) => content),
    (embedded) => {
      signal.throwIfAborted();
      progress.advance(embedded);
    },
  );
  const perS = (memories.length * 1000) / (performance.now() - startMs);
  progress.end();
  const durationsMs: number[] = [];
  for (const question of questions) {
    const sentAtMs = performance.now();
    await embedder.queryVector(question);
    durationsMs.push(performance.now() - sentAtMs);
  }
  onLine({
    part: 'embedding',
    texts: memories.length,
    texts_per_s: roundFigure(perS),
    ...percentilesMs(durationsMs, [50, 99]),
  });
  return perS;
}

// Returns the failure of a peer, such as a peer that cannot store all memories, as a figure, so that the other peers
// are still measured. Throws if the first peer, memoryd, fails.
async function measureOrFail(work: Work, kind: PeerKind, context: PeersContext): Promise<Figures> {
  try {
    return await measurePeer(work, kind, context);
  } catch (error) {
    if (context.signal.aborted || kind === context.kinds[0]) throw error;
    return { count_to_store: work.memories.length, failed: error instanceof Error ? error.message : String(error) };
  }
}

async function measurePeer(
  { memories, questions, embeddingsPerS }: Work,
  kind: PeerKind,
  { embedder, limitS, signal }: PeersContext,
): Promise<Figures> {
  const progress = showProgress(kind.name, memories.length + questions.length);
  const bounds = { limitS, signal, progress };
  try {
    return await withPeer(kind, { embedder, signal }, async (peer) => {
      const { stored, seconds } = await fillPeer(peer, kind, memories, bounds);
      await askPeer(peer, questions.slice(0, WARM_UP_QUERIES), TOP_K, bounds);
      const toAsk = questions.slice(WARM_UP_QUERIES);
      const { answers, durationsMs } = await askPeer(peer, toAsk, TOP_K, bounds);
      const results = answers.reduce((sum, answer) => sum + answer.length, 0);
      const secondsInAll = seconds + (kind.usesSharedVectors ? stored / embeddingsPerS : 0);
      return {
        count: stored,
        count_to_store: memories.length,
        queries: answers.length,
        queries_to_ask: toAsk.length,
        limited: stored < memories.length || answers.length < toAsk.length,
        stores_per_s: roundFigure(stored / secondsInAll),
        stores_without_embedding_per_s: kind.usesSharedVectors ? roundFigure(stored / seconds) : null,
        ...percentilesMs(durationsMs, [50, 99]),
        mean_results: answers.length > 0 ? roundFigure(results / answers.length) : null,
      };
    });
  } finally {
    progress.end();
  }
}

/** Returns the ratios of a peer's latencies and store rate to the first peer's; empty for the first peer. */
function ratios(first: Figures | undefined, figures: Figures): Figures {
  const over = (name: string): number | null => {
    const [one, other] = [first?.[name], figures[name]];
    return typeof one === 'number' && typeof other === 'number' ? roundFigure(other / one) : null;
  };
  return first === undefined
    ? {}
    : { p50_ratio: over('p50_ms'), p99_ratio: over('p99_ms'), stores_ratio: over('stores_per_s') };
}
