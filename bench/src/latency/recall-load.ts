import { performance } from 'node:perf_hooks';
import { closedLoop } from '../closed-loop.ts';
import type { HttpClient } from '../http-client.ts';
import type { Progress } from '../progress.ts';
import { type Figures, percentilesMs, roundFigure } from './figures.ts';
import type { QuestionSource } from './question-source.ts';

/** `top_k` of each recall. */
export const TOP_K = 10;

export interface RecallLoad {
  /** Maximum number of questions. */
  queries: number;
  clients: number;
  progress: Progress;
  /** Returns true to end the load early. */
  isOver?: () => boolean;
}

/** Measures recalls of new questions from concurrent clients, each with one request in flight. */
export async function measureRecall(
  client: HttpClient,
  ask: QuestionSource,
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
    recalls_per_s: roundFigure(durationsMs.length / seconds),
    ...percentilesMs(durationsMs, [50, 95, 99]),
    // Shows responses that are fast only because they are empty.
    mean_results: roundFigure(results / durationsMs.length),
  };
}
