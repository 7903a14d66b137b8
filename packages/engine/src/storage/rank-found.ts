import { rankedOrdinals } from '../core/ranking/rank.ts';
import type { Ranked } from '../ports/ranking.ts';
import type { RecalledMemory } from '../ports/storage-memories.ts';
import type { Answer, Answered, AnswerRequest, Signals } from '../ports/storage-search.ts';

/** The best of what a search found, to be read. */
interface BestFound {
  ordinals: number[];
  /** To be called when they have been read, which is the last stage. */
  toAnswer(read: { memories: RecalledMemory[]; truncated: boolean }): Answer;
}

/**
 * Ranks what a search found, where it was found: to tell it all to another thread would take as long as to rank it, and so
 * evidence goes there only where it is asked for.
 */
export function rankFound(
  signals: Signals,
  { ranking, explain }: Pick<AnswerRequest, 'ranking' | 'explain'>,
): BestFound {
  const { words, vectors, fuse } = signals.stagesMs;
  const foundAt = performance.now();
  const ranked = rankedOrdinals(signals, ranking);
  const rankedAt = performance.now();
  const toAnswered = (memory: RecalledMemory): Answered => {
    const found = ranked.get(memory.ordinal) as Ranked;
    return { memory, score: found.score, ...(explain && { ranked: found }) };
  };
  return {
    ordinals: [...ranked.keys()],
    toAnswer: ({ memories, truncated }) => ({
      answers: memories.map(toAnswered),
      truncated,
      stagesMs: { words, vectors, fuse: fuse + rankedAt - foundAt, read: performance.now() - rankedAt },
    }),
  };
}
