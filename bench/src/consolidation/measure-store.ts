import type { Store } from '../dataset.ts';
import { waitForEmbeddings } from '../embedding-wait.ts';
import { type AskOptions, askQuestions, type ScoredQuestion, withStore } from '../quality/measure-store.ts';
import { meanScores, type Scores } from '../quality/metrics.ts';

/** Number of consolidation runs between the first and the second measurement. */
export const RUNS = 3;

/** Effect of consolidation on a store and on the scores of its questions. */
export interface ConsolidationResult {
  questions: number;
  before: Scores;
  after: Scores;
  /** Number of memories promoted or distilled in all runs. */
  consolidated: number;
  /** Number of memories merged or evicted in all runs. */
  evicted: number;
  /** Number of memories in the semantic tier after the last run. */
  semantic: number;
  version: string;
}

/** Loads a store into a new server and asks its questions before and after the consolidation runs. */
export function measureStore(store: Store, options: AskOptions): Promise<ConsolidationResult> {
  return withStore(store, options, async (client, contentById) => {
    const before = getScores(await askQuestions(client, store, contentById, options));
    let consolidated = 0;
    let evicted = 0;
    for (let run = 0; run < RUNS; run++) {
      const { consolidated_count, evicted_count } = await client.consolidate();
      consolidated += consolidated_count;
      evicted += evicted_count;
      await waitForEmbeddings(client, options.signal);
    }
    const after = getScores(await askQuestions(client, store, contentById, options));
    const [{ semantic_count: semantic }, { version }] = await Promise.all([client.stats(), client.health()]);
    const scores = { before: meanScores(before), after: meanScores(after) };
    return { questions: before.length, ...scores, consolidated, evicted, semantic, version };
  });
}

function getScores(asked: readonly ScoredQuestion[]): Scores[] {
  return asked.flatMap(({ scores }) => scores ?? []);
}
