import { LIMITS, MemoryError } from '@memoryd/contract';
import type { Clock } from '../ports/clock.ts';
import type { IdSource } from '../ports/id-source.ts';
import { type Lease, SLEEP_LEASE } from '../ports/lease.ts';
import type { RunRef, SleepRun, StepResult, Storage } from '../ports/storage.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { EventLog, RunProgress } from './event-log.ts';
import { evictExcess, type TierMaxima } from './sleep/excess.ts';

/** How long a killed process can keep others from consolidating. */
const LEASE_MS = 10_000;

/** How often, and for how long in all, a run asks for a lease that another process holds. */
const LEASE_RETRY_MS = 100;
const LEASE_PATIENCE_MS = 120_000;

/** Memories that one step changes in one transaction, so that writers get their turn between steps. */
const STEP_SIZE = 500;

/** What the sleeper works with. `holder` names this process among those that share the database. */
export interface SleeperParts {
  storage: Storage;
  lease: Lease;
  clock: Clock;
  ids: IdSource;
  telemetry: Telemetry;
  holder: string;
  maxima: TierMaxima;
  events: EventLog;
}

interface Waiting {
  minAgeMs: number;
  run: Promise<SleepRun>;
}

/** Consolidates: one run at a time in this process and, by a lease, over all that share the database. */
export class Sleeper {
  readonly #parts: SleeperParts;
  readonly #waiting = new Map<string, Waiting>();
  #last: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(parts: SleeperParts) {
    this.#parts = parts;
  }

  /**
   * A run that begins after this call. Calls for a namespace that come while it waits to begin share it; it then
   * settles what is as old as the least of the ages that they asked for.
   *
   * @param minAgeMs time since storing after which a working memory settles
   */
  sleep(namespace: string, minAgeMs: number): Promise<SleepRun> {
    const shared = this.#waiting.get(namespace);
    if (shared) {
      shared.minAgeMs = Math.min(shared.minAgeMs, minAgeMs);
      return shared.run;
    }
    const run = this.#last.then(() => {
      this.#waiting.delete(namespace);
      return this.#runAlone(namespace, waiting.minAgeMs);
    });
    const waiting: Waiting = { minAgeMs, run };
    this.#waiting.set(namespace, waiting);
    this.#last = run.catch(() => {});
    return run;
  }

  /** Lets the run under way end after its present step, and refuses those that wait. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#last;
  }

  async #runAlone(namespace: string, minAgeMs: number): Promise<SleepRun> {
    const { lease, holder } = this.#parts;
    const fence = await this.#awaitLease();
    try {
      return await this.#run(namespace, minAgeMs, fence);
    } finally {
      await lease.release(SLEEP_LEASE, holder);
    }
  }

  async #awaitLease(): Promise<number> {
    for (let waitedMs = 0; waitedMs < LEASE_PATIENCE_MS; waitedMs += LEASE_RETRY_MS) {
      const fence = await this.#takeLease();
      if (fence !== null) return fence;
      await new Promise((resolve) => setTimeout(resolve, LEASE_RETRY_MS));
    }
    throw new MemoryError('UNAVAILABLE', 'another process is consolidating');
  }

  #takeLease(): Promise<number | null> {
    if (this.#stopped) throw new MemoryError('UNAVAILABLE', 'the service is stopping');
    const { lease, holder, clock } = this.#parts;
    return lease.acquire(SLEEP_LEASE, holder, clock.now(), LEASE_MS);
  }

  async #run(namespace: string, minAgeMs: number, fence: number): Promise<SleepRun> {
    const { storage, clock, ids, maxima } = this.#parts;
    const startedAt = clock.now();
    const begun = await storage.beginRun(namespace, {
      id: ids.next(),
      startedAt,
      settledUntil: startedAt - minAgeMs,
      fence,
    });
    if (begun.outcome === 'undoing') throw new MemoryError('UNAVAILABLE', 'a run is being undone');
    const { ref } = begun;
    this.#tell(namespace, { state: 'started' });
    try {
      await this.#repeat(ref, () => storage.settle(ref, begun.settledUntil, STEP_SIZE));
      await this.#repeat(ref, () => storage.evictExpired(ref, startedAt, STEP_SIZE));
      await this.#repeat(ref, () => storage.mergeTwins(ref, STEP_SIZE));
      await this.#repeat(ref, () => evictExcess(storage, ref, maxima, startedAt));
      await storage.dropIdempotencyKeys(startedAt - LIMITS.idempotencyKeyMs);
      const run = await storage.endRun(ref, clock.now());
      this.#report(namespace, run);
      return run;
    } catch (error) {
      this.#tell(namespace, { state: 'failed' });
      throw error;
    }
  }

  async #repeat({ namespace }: RunRef, step: () => Promise<StepResult>): Promise<void> {
    for (let more = true; more; ) {
      await this.#takeLease();
      const done = await step();
      if (done.count > 0) this.#tell(namespace, { state: 'progress', changed_count: done.count });
      more = done.more;
    }
  }

  #tell(namespace: string, told: RunProgress): void {
    this.#parts.events.publish(namespace, { type: 'consolidation', ...told });
  }

  #report(namespace: string, run: SleepRun): void {
    const counts = { consolidated_count: consolidatedCount(run), evicted_count: evictedCount(run) };
    this.#tell(namespace, { state: 'completed', run_id: run.id, ...counts });
    this.#parts.telemetry.report({
      level: 'info',
      component: 'consolidation',
      event: 'consolidation_completed',
      facts: {
        latency_ms: (run.endedAt ?? run.startedAt) - run.startedAt,
        ...counts,
      },
    });
  }
}

/** Memories that settled in a run. */
export function consolidatedCount({ counts }: SleepRun): number {
  return counts.settled ?? 0;
}

/** Memories that left recall in a run. */
export function evictedCount({ counts }: SleepRun): number {
  return (counts.evicted ?? 0) + (counts.merged ?? 0);
}
