import { BackgroundTask } from '../../concurrency/background-task.ts';
import type { Clock, Telemetry } from '../../ports/runtime.ts';
import type { Storage } from '../../ports/storage.ts';
import type { Consolidator } from './consolidator.ts';

/**
 * How often it is looked whether a run is due, and how often in an interval at least, since a run that is not due yet
 * waits for the next look; the first comes as long after the start.
 */
const LOOK_EVERY_MS = 20_000;
const MIN_LOOKS = 4;

export interface ConsolidationScheduleParts {
  storage: Storage;
  consolidator: Consolidator;
  clock: Clock;
  telemetry: Telemetry;
  /** Time between runs. */
  intervalMs: number;
  /** Time since storing after which a run promotes a working memory. */
  workingAgeMs: number;
  /** A namespace that sleeps even while it is empty. */
  alwaysNamespace: string;
}

/** Lets every namespace sleep once an interval, whichever of the processes on the database does it. */
export class ConsolidationSchedule {
  readonly #parts: ConsolidationScheduleParts;
  readonly #looking: BackgroundTask;

  constructor(parts: ConsolidationScheduleParts) {
    this.#parts = parts;
    const everyMs = Math.min(LOOK_EVERY_MS, parts.intervalMs / MIN_LOOKS);
    this.#looking = new BackgroundTask({ run: (signal) => this.#look(signal), everyMs });
  }

  start(): void {
    this.#looking.start();
  }

  /** Looks no more, and waits for a look that is under way; a run that it began is the consolidator's to stop. */
  stop(): Promise<void> {
    return this.#looking.stop();
  }

  async #look(signal: AbortSignal): Promise<'done'> {
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

  // One namespace that fails keeps no other from sleeping.
  async #consolidateIfDue(namespace: string): Promise<void> {
    const { consolidator, workingAgeMs } = this.#parts;
    try {
      if (await this.#isDue(namespace)) await consolidator.consolidate(namespace, workingAgeMs);
    } catch (error) {
      this.#reportFailure(error);
    }
  }

  // What stopping cuts off or refuses is no failure: the next start takes it up.
  #reportFailure(error: unknown): void {
    if (this.#looking.signal.aborted) return;
    this.#parts.telemetry.report({ level: 'error', component: 'consolidation', event: 'consolidation_failed', error });
  }

  async #isDue(namespace: string): Promise<boolean> {
    const now = this.#parts.clock.now();
    const { lastSleepAt } = await this.#parts.storage.stats(namespace, now);
    // A run that lies ahead was recorded before the clock was set back.
    return lastSleepAt === null || lastSleepAt > now || now - lastSleepAt >= this.#parts.intervalMs;
  }
}
