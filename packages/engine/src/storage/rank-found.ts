import { rankedOrdinals } from '../core/ranking/rank.ts';
import type { Ranked, Ranking } from '../ports/ranking.ts';
import type { StoredMemory } from '../ports/storage-memories.ts';
import type { Answer, Signals } from '../ports/storage-search.ts';

/** The best of what a search found, to be read. */
interface BestFound {
  ordinals: number[];
  /** To be called when they have been read, which is the last stage. */
  toAnswer(read: { memories: StoredMemory[]; truncated: boolean }): Answer;
}

/** Ranks what a search found, where it was found: to tell it all to another thread would take as long as to rank it. */
export function rankFound(signals: Signals, ranking: Ranking): BestFound {
  const { words, vectors, fuse } = signals.stagesMs;
  const foundAt = performance.now();
  const ranked = rankedOrdinals(signals, ranking);
  const rankedAt = performance.now();
  return {
    ordinals: [...ranked.keys()],
    toAnswer: ({ memories, truncated }) => ({
      answers: memories.map((memory) => ({ memory, ranked: ranked.get(memory.ordinal) as Ranked })),
      truncated,
      stagesMs: { words, vectors, fuse: fuse + rankedAt - foundAt, read: performance.now() - rankedAt },
    }),
  };
}
