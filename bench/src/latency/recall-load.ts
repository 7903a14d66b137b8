import { performance } from 'node:perf_hooks';
import { closedLoop } from '../closed-loop.ts';
import type { HttpClient } from '../http-client.ts';
import type { Progress } from '../progress.ts';
import { type Figures, percentilesMs, rounded } from './figures.ts';
import type { NewQuestions } from './new-questions.ts';

/** Results that each recall asks for. */
export const TOP_K = 10;

export interface RecallLoad {
  /** Most questions. */
  queries: number;
  clients: number;
  progress: Progress;
  /** Ends the questions before they are all asked. */
  isOver?: () => boolean;
}

/** Asks questions that were never asked before, from so many clients, each of which waits for its answer. */
export async function measureRecall(
  client: HttpClient,
  ask: NewQuestions,
  { queries, clients, progress, isOver }: RecallLoad,
): Promise<Figures> {
  const questions = Array.from({ length: queries }, ask);
  const durationsMs: number[] = [];
  let results = 0;
  const startMs = performance.now();
  const recall = async (index: number): Promise<void> => {
    const sentAtMs = performance.now();
    const { total } = await client.recall(questions[index] ?? '', TOP_K);
    durationsMs.push(performance.now() - sentAtMs);
    results += total;
    progress.advance();
  };
  await closedLoop(queries, clients, recall, isOver);
  const seconds = (performance.now() - startMs) / 1000;
  return {
    clients,
    queries: durationsMs.length,
    recalls_per_s: rounded(durationsMs.length / seconds),
    ...percentilesMs(durationsMs, [50, 95, 99]),
    // An answer that is fast because it is empty would show here.
    mean_results: rounded(results / durationsMs.length),
  };
}
