import type { Store } from '../dataset.ts';
import { waitForEmbeddings } from '../embedding-wait.ts';
import { ASKING_CLIENTS, type AskedQuestion, type AskOptions, askQuestions, storeTurns } from '../quality/ask-store.ts';
import { meanScores, type Scores } from '../quality/metrics.ts';
import { healthy, withServer } from '../server-process.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';

/** How often everything is consolidated between the two times that the questions are asked. */
export const RUNS = 3;

/** What consolidation did to a store and to the answers about it. */
export interface SleptStore {
  questions: number;
  before: Scores;
  after: Scores;
  /** Over all runs: memories that settled or were distilled, and that left recall. */
  consolidated: number;
  evicted: number;
  /** Memories in the semantic tier afterwards. */
  semantic: number;
  version: string;
}

/** Puts a store into a fresh server and asks its questions before and after some runs of consolidation. */
export function sleepStore(store: Store, options: AskOptions): Promise<SleptStore> {
  const { environment, signal, progress } = options;
  return withTemporaryFolder((folder) =>
    withServer(
      { folder, environment, connections: ASKING_CLIENTS, signal, firstAnswer: healthy },
      async ({ client }) => {
        const contentById = await storeTurns(client, store.turns, progress);
        await waitForEmbeddings(client, signal);
        const before = await askQuestions(client, store, contentById, progress);
        let consolidated = 0;
        let evicted = 0;
        for (let run = 0; run < RUNS; run++) {
          const { consolidated_count, evicted_count } = await client.consolidate();
          consolidated += consolidated_count;
          evicted += evicted_count;
          await waitForEmbeddings(client, signal);
        }
        const after = await askQuestions(client, store, contentById, progress);
        const { semantic_count: semantic, version } = await client.health();
        const scores = { before: meanScores(scoresOf(before)), after: meanScores(scoresOf(after)) };
        return { questions: scoresOf(before).length, ...scores, consolidated, evicted, semantic, version };
      },
    ),
  );
}

function scoresOf(asked: readonly AskedQuestion[]): Scores[] {
  return asked.flatMap(({ scores }) => scores ?? []);
}
