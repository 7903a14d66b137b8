import type { HttpClient } from '../http-client.ts';
import { type Progress, showProgress } from '../progress.ts';
import { withUnit } from './calibration.ts';
import { withLoopDelay } from './event-loop.ts';
import type { Figures } from './figures.ts';

/** Called after each step with the figures of the step. */
export type OnStep = (step: string, figures: Figures) => void;

/** Measures a step: shows its progress, and adds `unit_ms` and `loop_p99_ms` to its figures. */
export async function measureStep(
  client: HttpClient,
  label: string,
  total: number,
  measure: (progress: Progress) => Promise<Figures>,
): Promise<Figures> {
  const progress = showProgress(label, total);
  try {
    return await withUnit(() => withLoopDelay(client, () => measure(progress)));
  } finally {
    progress.end();
  }
}
