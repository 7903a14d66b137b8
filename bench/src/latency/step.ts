import type { HttpClient } from '../http-client.ts';
import { type Progress, showProgress } from '../progress.ts';
import { withUnit } from './calibration.ts';
import { withLoopDelay } from './event-loop.ts';
import type { Figures } from './figures.ts';

/** Told of each step as soon as it is measured. */
export type TellStep = (step: string, figures: Figures) => void;

/** Measures a step under load: shows its progress, and adds the machine's unit and the hold of the server's loop. */
export async function measured(
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
