import { BackgroundTask } from '../concurrency/background-task.ts';
import type { Clock, Telemetry } from '../ports/runtime.ts';
import type { Storage } from '../ports/storage.ts';
import { type Consolidator, NamespaceDeletedError } from './consolidator.ts';

/**
 * Maximum interval for checking whether runs are due. Limits the delay of a run, as `MIN_CHECKS` does. The first check
 * runs one check interval after the start.
 */
const MAX_CHECK_INTERVAL_MS = 20_000;

/** Minimum number of checks per consolidation interval. */
const MIN_CHECKS = 4;

export interface ConsolidationScheduleParts {
  storage: Storage;
  consolidator: Consolidator;
  clock: Clock;
  telemetry: Telemetry;
  /** Interval between runs. */
  intervalMs: number;
  /** Time since storing after which a run promotes a working memory. */
  workingAgeMs: number;
  /** A namespace that is consolidated even if it is empty. */
  alwaysNamespace: string;
}

/** Consolidates each namespace once per interval, in whichever process on the database checks first. */
export class ConsolidationSchedule {
  readonly #parts: ConsolidationScheduleParts;
  readonly #task: BackgroundTask;

  constructor(parts: ConsolidationScheduleParts) {
    this.#parts = parts;
    const everyMs = Math.min(MAX_CHECK_INTERVAL_MS, parts.intervalMs / MIN_CHECKS);
    this.#task = new BackgroundTask({ run: (signal) => this.#check(signal), everyMs });
  }

  start(): void {
    this.#task.start();
  }

  /** Stops checking, and waits for an active check. The consolidator stops a run that the check started. */
  stop(): Promise<void> {
    return this.#task.stop();
  }

  async #check(signal: AbortSignal): Promise<'done'> {
    const { storage, alwaysNamespace } = this.#parts;
    try {
      const namespaces = new Set([alwaysNamespace, ...(await storage.namespaces())]);
      for (const namespace of namespaces) {
        if (!signal.aborted) await this.#consolidateIfDue(namespace);
      }
    } catch (error) {
      this.#reportFailure(error);
    }
    return 'done';
  }

  // A failure in one namespace does not affect the others. A namespace may be deleted during its consolidation.
  async #consolidateIfDue(namespace: string): Promise<void> {
    const { consolidator, workingAgeMs } = this.#parts;
    try {
      if (await this.#isDue(namespace)) await consolidator.consolidate(namespace, workingAgeMs);
    } catch (error) {
      if (!(error instanceof NamespaceDeletedError)) this.#reportFailure(error);
    }
  }

  // An abort by `stop` is not a failure; the run continues after the next start.
  #reportFailure(error: unknown): void {
    if (this.#task.signal.aborted) return;
    this.#parts.telemetry.report({ level: 'error', component: 'consolidation', event: 'consolidation_failed', error });
  }

  async #isDue(namespace: string): Promise<boolean> {
    const now = this.#parts.clock.now();
    const { lastSleepAt } = await this.#parts.storage.stats(namespace, now);
    // If the last run is in the future, the clock was set back since, and the next run is due now.
    return lastSleepAt === null || lastSleepAt > now || now - lastSleepAt >= this.#parts.intervalMs;
  }
}
