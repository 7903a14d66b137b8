import type { Store } from '../dataset.ts';
import { waitForEmbeddings } from '../embedding-wait.ts';
import { type AskedQuestion, type AskOptions, askQuestions, withStore } from '../quality/ask-store.ts';
import { meanScores, type Scores } from '../quality/metrics.ts';

/** How often everything is consolidated between the two times that the questions are asked. */
export const RUNS = 3;

/** What consolidation did to a store and to the answers about it. */
export interface ConsolidatedStore {
  questions: number;
  before: Scores;
  after: Scores;
  /** Over all runs: memories that promoted or were distilled, and that left recall. */
  consolidated: number;
  evicted: number;
  /** Memories in the semantic tier afterwards. */
  semantic: number;
  version: string;
}

/** Puts a store into a fresh server and asks its questions before and after some runs of consolidation. */
export function consolidateStore(store: Store, options: AskOptions): Promise<ConsolidatedStore> {
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
    const { semantic_count: semantic, version } = await client.health();
    const scores = { before: meanScores(before), after: meanScores(after) };
    return { questions: before.length, ...scores, consolidated, evicted, semantic, version };
  });
}

function getScores(asked: readonly AskedQuestion[]): Scores[] {
  return asked.flatMap(({ scores }) => scores ?? []);
}
