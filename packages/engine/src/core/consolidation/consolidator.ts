import { LIMITS, MemoryError } from '@memoryd/contract';
import { CONSOLIDATION_LEASE, type Lease } from '../../ports/coordination.ts';
import type { Telemetry } from '../../ports/runtime.ts';
import type { ConsolidationRun, RunRef, StepResult, UndoOutcome } from '../../ports/storage-consolidation.ts';
import type { EventLog, RunProgress } from '../event-log.ts';
import { paced } from '../time.ts';
import { Distilling, type DistilParts } from './distilling.ts';
import { SelfCheck, type SelfCheckParts } from './self-check.ts';
import {
  BATCH_SIZE,
  type Due,
  evict,
  excess,
  HOUSEKEEPING,
  merge,
  planExcess,
  promote,
  type Step,
  type TierMaxima,
  toCounts,
} from './steps.ts';

/** How long a killed process can keep others from consolidating, and how often the lease is renewed. */
const LEASE_MS = 10_000;
const LEASE_RENEWED_EVERY_MS = 2_000;

/** How often, and for how long in all, a run asks for a lease that another process holds. */
const LEASE_RETRY_MS = 100;
const LEASE_PATIENCE_MS = 120_000;

/** Undos, and plans, that wait for their turn. */
const MAX_WAITING = 100;

/** What the consolidator works with. `holder` names this process among those that share the database. */
export interface ConsolidatorParts extends DistilParts, SelfCheckParts {
  lease: Lease;
  telemetry: Telemetry;
  holder: string;
  /** How long evicted memories and records of runs are kept. */
  archiveMs: number;
  maxima: TierMaxima;
  events: EventLog;
}

/** Consolidates, and undoes that: one at a time in this process and, by a lease, over all that share the database. */
export class Consolidator {
  readonly #parts: ConsolidatorParts;
  /** The run of each namespace that waits to begin. */
  readonly #waiting = new Map<string, { minAgeMs: number; run: Promise<ConsolidationRun> }>();
  #waitingUndos = 0;
  #last: Promise<unknown> = Promise.resolve();
  #waitingPlans = 0;
  #lastPlan: Promise<unknown> = Promise.resolve();
  readonly #stopping = new AbortController();

  constructor(parts: ConsolidatorParts) {
    this.#parts = parts;
  }

  /**
   * A run that begins after this call, or the one that a crash left unfinished. Calls for a namespace share the run that
   * waits to begin; it then promotes what is as old as the least of the ages that they asked for.
   *
   * @param minAgeMs time since storing after which a working memory promotes
   */
  consolidate(namespace: string, minAgeMs: number): Promise<ConsolidationRun> {
    const shared = this.#waiting.get(namespace);
    if (shared) {
      shared.minAgeMs = Math.min(shared.minAgeMs, minAgeMs);
      return shared.run;
    }
    const run: Promise<ConsolidationRun> = this.#inTurn((fence) => {
      this.#waiting.delete(namespace);
      return this.#run(namespace, waiting.minAgeMs, fence);
    });
    const waiting = { minAgeMs, run };
    this.#waiting.set(namespace, waiting);
    // Where its turn never came, it must not keep later calls waiting with it.
    run.catch(() => this.#waiting.get(namespace) === waiting && this.#waiting.delete(namespace));
    return run;
  }

  /** What a run that began now would do; it waits for plans that were asked for before. */
  plan(namespace: string, minAgeMs: number) {
    if (this.#waitingPlans >= MAX_WAITING) throw new MemoryError('UNAVAILABLE', 'too many plans wait for their turn');
    this.#waitingPlans++;
    const planned = this.#lastPlan.then(() => {
      this.#stopping.signal.throwIfAborted();
      const { clock, maxima } = this.#parts;
      const now = clock.now();
      return this.#plan({ namespace, now, promotedUntil: now - minAgeMs, maxima });
    });
    this.#lastPlan = planned.catch(() => {}).finally(() => this.#waitingPlans--);
    return planned;
  }

  /** A part of a plan is as of the moment in which it was read. */
  async #plan(due: Due) {
    const { namespace, now, promotedUntil } = due;
    const { storage } = this.#parts;
    const promoted = await storage.planPromotion(namespace, { promotedUntil, now }, LIMITS.plannedMemories);
    const merged = await storage.planMerge(namespace, now, LIMITS.plannedMemories);
    const duplicates = new Set(merged.items.map(({ id }) => id));
    const distilled = await new Distilling(this.#parts, due, this.#stopping.signal).plan(duplicates);
    const expired = await storage.planEvict(namespace, now, LIMITS.plannedMemories);
    const made = distilled.items.filter(({ refreshes }) => refreshes === undefined).length;
    const over = await planExcess(storage, due, { promoted: promoted.total, merged, made });
    const evicted = [...expired.items, ...over.items].slice(0, LIMITS.plannedMemories);
    return {
      promote: promoted,
      merge: merged,
      distil: distilled,
      evict: { total: expired.total + over.total, items: evicted },
    };
  }

  /** Takes a run back after all that was asked for before; anything but `begun` says why it cannot be. */
  async undo(namespace: string, id: string): Promise<UndoOutcome> {
    if (this.#waitingUndos >= MAX_WAITING) throw new MemoryError('UNAVAILABLE', 'too many undos wait for their turn');
    this.#waitingUndos++;
    return this.#inTurn((fence) => this.#undo(namespace, id, fence)).finally(() => this.#waitingUndos--);
  }

  /** Lets what is under way end after its present batch, and refuses those that wait. */
  async stop(): Promise<void> {
    this.#stopping.abort(new MemoryError('UNAVAILABLE', 'the service is stopping'));
    await Promise.all([this.#last, this.#lastPlan]);
  }

  /** Does something under the lease, after all that was asked for before. */
  #inTurn<T>(work: (fence: number) => Promise<T>): Promise<T> {
    const { lease, holder, telemetry } = this.#parts;
    const done = this.#last.then(async () => {
      const fence = await this.#awaitLease();
      // Beside the work, since a distiller may be asked for longer than the lease holds.
      const renewal = setInterval(() => void this.#takeLease().catch(() => {}), LEASE_RENEWED_EVERY_MS);
      try {
        return await work(fence);
      } finally {
        clearInterval(renewal);
        // What was done stays done, and the lease ends by itself before long.
        await lease.release(CONSOLIDATION_LEASE, holder).catch((error: unknown) => {
          telemetry.report({ level: 'warn', component: 'consolidation', event: 'lease_not_released', error });
        });
      }
    });
    this.#last = done.catch(() => {});
    return done;
  }

  async #awaitLease(): Promise<number> {
    for (let waitedMs = 0; waitedMs < LEASE_PATIENCE_MS; waitedMs += LEASE_RETRY_MS) {
      const fence = await this.#takeLease();
      if (fence !== null) return fence;
      await new Promise((resolve) => setTimeout(resolve, LEASE_RETRY_MS));
    }
    throw new MemoryError('UNAVAILABLE', 'another process is consolidating');
  }

  async #takeLease(): Promise<number | null> {
    this.#stopping.signal.throwIfAborted();
    const { lease, holder, clock } = this.#parts;
    return lease.acquire(CONSOLIDATION_LEASE, holder, clock.now(), LEASE_MS);
  }

  async #run(namespace: string, minAgeMs: number, fence: number): Promise<ConsolidationRun> {
    const { storage, clock, archiveMs, maxima } = this.#parts;
    const now = clock.now();
    const startedMs = performance.now();
    const { lastSleepAt } = await storage.stats(namespace, now);
    const certainNow = Math.min(now, lastSleepAt ?? 0);
    const { ref, promotedUntil } = await this.#begin(namespace, now, now - minAgeMs, fence);
    this.#tell(namespace, { state: 'started' });
    try {
      const underWay = { ref, now, promotedUntil, certainNow, archiveMs, maxima };
      const take = (step: Step) => this.#repeat(ref, () => paced(() => step(storage, underWay)));
      for (const step of HOUSEKEEPING) await take(step);
      const due = { namespace, now, promotedUntil, maxima };
      const check = new SelfCheck(this.#parts, due);
      await check.begin();
      const distilling = new Distilling(this.#parts, due, this.#stopping.signal);
      // What has expired is not merged any more, nor one of duplicates distilled.
      for (const step of [promote, evict, merge, () => distilling.work(ref), excess]) await take(step);
      const lost = await check.lost();
      if (lost.length > 0) return await this.#revert(ref, lost, startedMs);
      const run = await storage.endRun(ref, clock.now(), distilling.notes);
      this.#report(namespace, 'completed', run, startedMs);
      return run;
    } catch (error) {
      this.#tell(namespace, { state: 'failed' });
      throw error;
    }
  }

  async #begin(namespace: string, startedAt: number, promotedUntil: number, fence: number) {
    const { storage, ids } = this.#parts;
    const begin = { id: ids.next(), startedAt, promotedUntil, fence };
    for (;;) {
      const begun = await storage.beginRun(namespace, begin);
      if (begun.outcome !== 'undoing') return begun;
      await this.#takeBack(begun.ref);
    }
  }

  async #undo(namespace: string, id: string, fence: number): Promise<UndoOutcome> {
    const { storage, clock, archiveMs } = this.#parts;
    const startedMs = performance.now();
    const begun = await storage.beginUndo(namespace, id, { fence, endedAfter: clock.now() - archiveMs });
    if (begun.outcome !== 'begun') return begun;
    await this.#takeBack(begun.ref);
    const run = await storage.run(namespace, id);
    if (run) this.#report(namespace, 'undone', run, startedMs);
    return begun;
  }

  /** Takes back a run after which memories are no longer found by their own words. */
  async #revert(ref: RunRef, lost: string[], startedMs: number): Promise<ConsolidationRun> {
    const { storage } = this.#parts;
    await storage.beginRevert(ref, { no_longer_recalled: lost });
    await this.#takeBack(ref);
    const run = (await storage.run(ref.namespace, ref.id)) as ConsolidationRun;
    this.#report(ref.namespace, 'reverted', run, startedMs, { no_longer_recalled: lost.length });
    return run;
  }

  async #takeBack(ref: RunRef): Promise<void> {
    const { storage, clock, embedding } = this.#parts;
    await this.#repeat(ref, () => storage.undoSome(ref, clock.now(), BATCH_SIZE));
    // What is in recall again waits for its vectors.
    embedding?.look();
  }

  /** Does batch after batch; each itself looks whether the lease is still held. */
  async #repeat({ namespace }: RunRef, batch: () => Promise<StepResult>): Promise<void> {
    for (let more = true; more; ) {
      this.#stopping.signal.throwIfAborted();
      const done = await batch();
      if (done.count > 0) this.#tell(namespace, { state: 'progress', changed_count: done.count });
      more = done.more;
    }
  }

  #tell(namespace: string, told: RunProgress): void {
    this.#parts.events.publish(namespace, { type: 'consolidation', ...told });
  }

  #report(
    namespace: string,
    state: 'completed' | 'undone' | 'reverted',
    run: ConsolidationRun,
    startedMs: number,
    facts: Record<string, number> = {},
  ): void {
    const counts = toCounts(run);
    this.#tell(namespace, { state, run_id: run.id, ...counts });
    this.#parts.telemetry.report({
      level: state === 'reverted' ? 'error' : 'info',
      component: 'consolidation',
      event: `consolidation_${state}`,
      facts: { run: run.id, latency_ms: Math.round(performance.now() - startedMs), ...counts, ...facts },
    });
  }
}
