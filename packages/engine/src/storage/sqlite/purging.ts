import { BackgroundTask, doubling } from '../../concurrency/background-task.ts';
import type { Telemetry, TelemetryEvent } from '../../ports/runtime.ts';
import type { Thread } from './storage-thread.ts';
import type { PurgeStep, ShrinkStep } from './write-thread.ts';

/** How soon what was held up is tried again, and what failed, at first and after many failures. */
const RETRY_MS = 200;
const MAX_RETRY_MS = 10_000;

/**
 * How long the index rests when it is as the file was: what many writers commit meanwhile is taken in at once. A search
 * that comes in between takes it in itself, less than a millisecond's work.
 */
const REST_MS = 10;

interface PurgeParts {
  /** Begins a purge, or goes on with one where the step before it stopped. */
  step(step?: PurgeStep): Promise<PurgeStep>;
  /** Called after each purge that is done. */
  onDone?(): void;
  telemetry?: Telemetry | undefined;
}

/**
 * Drives the bytes of forgotten texts out of the database file. The first failure in a row is reported; what is left when
 * the task is stopped is noted in the file, for the next process that opens it.
 */
export function purgeTask({ step, onDone = () => {}, telemetry }: PurgeParts): BackgroundTask {
  let at: PurgeStep | undefined;
  const report = (event: Omit<TelemetryEvent, 'component'>) => telemetry?.report({ component: 'storage', ...event });
  return new BackgroundTask({
    async run() {
      const from = typeof at === 'object' ? at : undefined;
      // After a step that fails, a purge begins anew.
      at = undefined;
      at = await step(from);
      if (typeof at === 'object') return 'more';
      if (at === 'done') onDone();
      return at;
    },
    retryMs: doubling(RETRY_MS, MAX_RETRY_MS),
    onFailed: (error) => report({ level: 'error', event: 'purge_failed', error }),
    onRecovered: () => report({ level: 'info', event: 'purge_recovered' }),
  });
}

/**
 * Gives the room of what was deleted back to the disk, in small steps between which other writers get their turn. What
 * fails is left to the next request: the room is not lost, later memories take it.
 *
 * @param step is told whether shrinking has begun: the first step decides whether that is worth it
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
 * Keeps the index of the search thread near the file between searches, so that none has to take in at once what was
 * written since the one before. What it cannot do, the next search does or reports. To be requested when something may
 * have been written.
 */
export function indexTask(searcher: Thread): BackgroundTask {
  const run = async () => ((await searcher.call<boolean>('follow')) ? 'done' : 'more');
  return new BackgroundTask({ run, restMs: REST_MS });
}
