import type { Telemetry } from '@memoryd/core';
import { BackgroundTask } from '@memoryd/core';
import type { Thread } from './storage-thread.ts';
import type { PurgePart, PurgeStep, ShrinkStep } from './write-thread.ts';

/** Initial delay before a failed or blocked step is retried. */
const RETRY_MS = 200;
/** Maximum delay before a failed or blocked purge step is retried. The delay doubles with each failure. */
const MAX_RETRY_MS = 10_000;

/**
 * Pause of the index task when the index is up to date, so that the task processes the commits of many writers
 * together. A search during the pause updates the index itself, in less than a millisecond.
 */
const REST_MS = 10;

interface PurgeParts {
  /** Continues a purge with the given part, or starts a purge. */
  step(part?: PurgePart): Promise<PurgeStep>;
  /** Called after each completed purge. */
  onDone?(): void;
  telemetry?: Telemetry | undefined;
}

/**
 * Creates the task that purges the bytes of forgotten texts from the database file. Reports the first of consecutive
 * failures. If the task is stopped, the next process that opens the file resumes the purge.
 */
export function purgeTask({ step, onDone = () => {}, telemetry }: PurgeParts): BackgroundTask {
  let at: PurgeStep | undefined;
  const report = (event: Omit<Parameters<Telemetry['report']>[0], 'component'>) =>
    telemetry?.report({ component: 'storage', ...event });
  return new BackgroundTask({
    async run() {
      const from = typeof at === 'object' ? at : undefined;
      // If the step fails, the purge starts over.
      at = undefined;
      at = await step(from);
      if (typeof at === 'object') return 'more';
      if (at === 'done') onDone();
      return at;
    },
    retryMs: BackgroundTask.doubling(RETRY_MS, MAX_RETRY_MS),
    onFailed: (error) => report({ level: 'error', event: 'purge_failed', error }),
    onRecovered: () => report({ level: 'info', event: 'purge_recovered' }),
  });
}

/**
 * Creates the task that returns the space of deleted data to the disk, in small steps so that other writers are not
 * blocked. A failure ends the task until the next request, because later memories reuse the space.
 *
 * @param step runs one step. `begun` is false for the first step, which decides whether shrinking is worthwhile
 */
export function shrinkTask(step: (begun: boolean) => Promise<ShrinkStep>): BackgroundTask {
  let begun = false;
  return new BackgroundTask({
    async run() {
      const outcome = await step(begun).catch(() => 'done' as const);
      begun = outcome !== 'done';
      return outcome;
    },
    retryMs: () => RETRY_MS,
  });
}

/**
 * Creates the task that updates the index of the search thread between searches, so that no search has to process many
 * writes at once. Errors are ignored, because the next search retries the update and reports the error. Callers request
 * the task after writes.
 */
export function indexTask(searcher: Thread): BackgroundTask {
  const run = async () => ((await searcher.call<boolean>('follow')) ? 'done' : 'more');
  return new BackgroundTask({ run, restMs: REST_MS });
}
