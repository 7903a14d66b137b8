import { performance } from 'node:perf_hooks';
import { closedLoop } from '../closed-loop.ts';
import type { HttpClient } from '../http-client.ts';
import type { Progress } from '../progress.ts';
import { type Figures, percentilesMs, rounded } from './figures.ts';
import type { NewQuestions } from './new-questions.ts';

/** Results that each recall asks for. */
export const TOP_K = 10;

/** Asks questions that were never asked before, from so many clients, each of which waits for its answer. */
export async function measureRecall(
  client: HttpClient,
  ask: NewQuestions,
  { queries, clients, progress }: { queries: number; clients: number; progress: Progress },
): Promise<Figures> {
  const questions = Array.from({ length: queries }, ask);
  const durationsMs = new Float64Array(queries);
  let results = 0;
  const startMs = performance.now();
  await closedLoop(queries, clients, async (index) => {
    const sentAtMs = performance.now();
    const { total } = await client.recall(questions[index] ?? '', TOP_K);
    durationsMs[index] = performance.now() - sentAtMs;
    results += total;
    progress.advance();
  });
  const seconds = (performance.now() - startMs) / 1000;
  return {
    clients,
    queries,
    recalls_per_s: rounded(queries / seconds),
    ...percentilesMs(durationsMs, [50, 95, 99]),
    // An answer that is fast because it is empty would show here.
    mean_results: rounded(results / queries),
  };
}
