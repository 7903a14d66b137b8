import { LIMITS, MemoryError } from '@memoryd/contract';
import type { EventLog, RunProgress } from '../event-log.ts';
import { CONSOLIDATION_LEASE, type Lease } from '../ports/coordination.ts';
import type { Telemetry } from '../ports/runtime.ts';
import type {
  ConsolidationRun,
  MemoryUndoOutcome,
  RunRef,
  StepResult,
  UndoOutcome,
} from '../ports/storage-consolidation.ts';
import { paced } from '../time.ts';
import { Distillation, type DistilParts } from './distillation.ts';
import { SelfCheck, type SelfCheckParts } from './self-check.ts';
import {
  BATCH_SIZE,
  createRequeueStep,
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

/** Duration of the lease. After a crash, other processes wait until the lease expires. */
const LEASE_MS = 10_000;

/** Interval for renewing the lease. */
const LEASE_RENEWAL_MS = 2_000;

/** Interval for retrying to acquire a lease that another process has. */
const LEASE_RETRY_MS = 100;

/** Timeout for acquiring a lease that another process has. */
const LEASE_TIMEOUT_MS = 120_000;

/** Maximum number of queued and active undos, and of queued and active plans. */
const MAX_WAITING = 100;

/** The dependencies of the consolidator. `holder` identifies this process among those that share the database. */
export interface ConsolidatorParts extends DistilParts, SelfCheckParts {
  lease: Lease;
  telemetry: Telemetry;
  holder: string;
  /** Time that evicted memories and records of runs stay in the archive. */
  archiveMs: number;
  maxima: TierMaxima;
  events: EventLog;
}

/**
 * Result of an undo. `alsoUndone`: ids of the later runs that were undone, newest first. `refusedBy`: id of the later
 * run that `outcome` refers to; absent if `outcome` refers to the requested run.
 */
export type UndoResult = UndoOutcome & { alsoUndone: string[]; refusedBy?: string };

/**
 * Plans, runs and undoes consolidations. One run or undo is active at a time: a queue ensures this in the process, and
 * a lease among all processes that share the database.
 */
export class Consolidator {
  readonly #parts: ConsolidatorParts;
  /** The queued run of each namespace. */
  readonly #queued = new Map<string, { minAgeMs: number; run: Promise<ConsolidationRun> }>();
  #queuedUndos = 0;
  #last: Promise<unknown> = Promise.resolve();
  #queuedPlans = 0;
  #lastPlan: Promise<unknown> = Promise.resolve();
  readonly #stopping = new AbortController();

  constructor(parts: ConsolidatorParts) {
    this.#parts = parts;
  }

  /**
   * Queues a run, which continues a run that a crash interrupted, if any. Calls for the same namespace share its queued
   * run, which uses the smallest `minAgeMs` of these calls. May reject with NOT_FOUND if the namespace is deleted during
   * the run.
   *
   * @param minAgeMs time since storing after which a working memory is promoted
   */
  consolidate(namespace: string, minAgeMs: number): Promise<ConsolidationRun> {
    const shared = this.#queued.get(namespace);
    if (shared) {
      shared.minAgeMs = Math.min(shared.minAgeMs, minAgeMs);
      return shared.run;
    }
    const run: Promise<ConsolidationRun> = this.#enqueue((fence) => {
      this.#queued.delete(namespace);
      return this.#run(namespace, queued.minAgeMs, fence);
    });
    const queued = { minAgeMs, run };
    this.#queued.set(namespace, queued);
    // If the run fails before it starts, later calls must not join it.
    run.catch(() => this.#queued.get(namespace) === queued && this.#queued.delete(namespace));
    return run;
  }

  /**
   * Estimates the changes that a run would make now, and lists at most `LIMITS.plannedMemories` per kind. Plans are
   * computed one at a time, in order. Throws UNAVAILABLE if too many plans are queued.
   */
  plan(namespace: string, minAgeMs: number) {
    if (this.#queuedPlans >= MAX_WAITING)
      throw new MemoryError('UNAVAILABLE', 'too many consolidation plans are queued; retry later');
    this.#queuedPlans++;
    const planned = this.#lastPlan.then(() => {
      this.#stopping.signal.throwIfAborted();
      const { clock, maxima } = this.#parts;
      const now = clock.now();
      return this.#plan({ namespace, now, promotedUntil: now - minAgeMs, maxima });
    });
    this.#lastPlan = planned.catch(() => {}).finally(() => this.#queuedPlans--);
    return planned;
  }

  /** The parts of a plan are read one after the other, without a common snapshot. */
  async #plan(due: Due) {
    const { namespace, now, promotedUntil } = due;
    const { storage } = this.#parts;
    const promoted = await storage.planPromotion(namespace, { promotedUntil, now }, LIMITS.plannedMemories);
    const merged = await storage.planMerge(namespace, now, LIMITS.plannedMemories);
    const duplicates = new Set(merged.items.map(({ id }) => id));
    const distilled = await new Distillation(this.#parts, due, this.#stopping.signal).plan(duplicates);
    const expired = await storage.planEvict(namespace, now, LIMITS.plannedMemories);
    const created = distilled.items.filter(({ refreshes }) => refreshes === undefined).length;
    const over = await planExcess(storage, due, { promoted: promoted.total, merged, created });
    const evicted = [...expired.items, ...over.items].slice(0, LIMITS.plannedMemories);
    return {
      promote: promoted,
      merge: merged,
      distil: distilled,
      evict: { total: expired.total + over.total, items: evicted },
    };
  }

  /**
   * Undoes a run after all queued runs and undos. Returns `begun` if the run was undone; any other outcome is the
   * reason why the run cannot be undone. `withLater` undoes the later runs first, newest first.
   */
  undo(namespace: string, id: string, withLater = false): Promise<UndoResult> {
    return this.#enqueueUndo((fence) => this.#undoAll(namespace, id, withLater, fence));
  }

  /** Undoes the changes that a run made to one memory, after all queued runs and undos. See `Storage.undoOfMemory`. */
  undoOfMemory(namespace: string, id: string, memoryId: string): Promise<MemoryUndoOutcome> {
    const { storage, clock, archiveMs, embedding, events } = this.#parts;
    return this.#enqueueUndo(async (fence) => {
      const at = clock.now();
      const undone = await storage.undoOfMemory(namespace, id, memoryId, { fence, endedAfter: at - archiveMs, at });
      if (undone.outcome !== 'undone') return undone;
      embedding?.look();
      events.publishMemories(namespace, undone.isDeleted ? 'forgotten' : 'updated', [undone.memory]);
      return undone;
    });
  }

  async #enqueueUndo<T>(undo: (fence: number) => Promise<T>): Promise<T> {
    if (this.#queuedUndos >= MAX_WAITING)
      throw new MemoryError('UNAVAILABLE', 'too many undos are queued; retry later');
    this.#queuedUndos++;
    return this.#enqueue(undo).finally(() => this.#queuedUndos--);
  }

  /** Stops active operations after their current batch, and rejects queued ones. */
  async stop(): Promise<void> {
    this.#stopping.abort(new MemoryError('UNAVAILABLE', 'the service is stopping; retry later'));
    await Promise.all([this.#last, this.#lastPlan]);
  }

  /** Runs an operation under the lease, after all queued operations. */
  #enqueue<T>(work: (fence: number) => Promise<T>): Promise<T> {
    const { lease, holder, telemetry } = this.#parts;
    const done = this.#last.then(async () => {
      const fence = await this.#waitForLease();
      // The lease is renewed in parallel, since a call to a distiller may take longer than the lease.
      const renewal = setInterval(() => void this.#acquireLease().catch(() => {}), LEASE_RENEWAL_MS);
      try {
        return await work(fence);
      } finally {
        clearInterval(renewal);
        // The work has ended; if the release fails, the lease expires after at most `LEASE_MS`.
        await lease.release(CONSOLIDATION_LEASE, holder).catch((error: unknown) => {
          telemetry.report({ level: 'warn', component: 'consolidation', event: 'lease_not_released', error });
        });
      }
    });
    this.#last = done.catch(() => {});
    return done;
  }

  async #waitForLease(): Promise<number> {
    for (let waitedMs = 0; waitedMs < LEASE_TIMEOUT_MS; waitedMs += LEASE_RETRY_MS) {
      const fence = await this.#acquireLease();
      if (fence !== null) return fence;
      await new Promise((resolve) => setTimeout(resolve, LEASE_RETRY_MS));
    }
    throw new MemoryError('UNAVAILABLE', 'another process is consolidating; retry later');
  }

  async #acquireLease(): Promise<number | null> {
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
    this.#publishProgress(namespace, { state: 'started' });
    try {
      const run = { ref, now, promotedUntil, certainNow, archiveMs, maxima };
      const repeatStep = (step: Step) => this.#repeat(ref, () => paced(() => step(storage, run)));
      for (const step of [...HOUSEKEEPING, createRequeueStep()]) await repeatStep(step);
      const due = { namespace, now, promotedUntil, maxima };
      const check = new SelfCheck(this.#parts, due);
      await check.begin();
      const distilling = new Distillation(this.#parts, due, this.#stopping.signal);
      // Eviction runs before merging and distilling, so that expired memories are neither merged nor distilled. Merging
      // runs before distilling, so that no duplicate becomes a source.
      for (const step of [promote, evict, merge, () => distilling.work(ref), excess]) await repeatStep(step);
      const lost = await check.lost();
      if (lost.length > 0) return await this.#revertRun(ref, lost, startedMs);
      const ended = await storage.endRun(ref, clock.now(), distilling.notes);
      this.#report(namespace, 'completed', ended, startedMs);
      return ended;
    } catch (error) {
      this.#publishProgress(namespace, { state: 'failed' });
      throw (await this.#isDeleted(ref)) ? new NamespaceDeletedError() : error;
    }
  }

  /** Returns whether the run has been deleted, which happens together with its namespace. */
  async #isDeleted({ namespace, id }: RunRef): Promise<boolean> {
    try {
      return (await this.#parts.storage.run(namespace, id)) === undefined;
    } catch {
      // The error of the run says more.
      return false;
    }
  }

  async #begin(namespace: string, startedAt: number, promotedUntil: number, fence: number) {
    const { storage, ids } = this.#parts;
    const begin = { id: ids.next(), startedAt, promotedUntil, fence };
    for (;;) {
      const begun = await storage.beginRun(namespace, begin);
      if (begun.outcome !== 'undoing') return begun;
      await this.#undoRun(begun.ref);
    }
  }

  /** The number of iterations is limited: each undoes one run, and no run can begin while this process has the lease. */
  async #undoAll(namespace: string, id: string, withLater: boolean, fence: number): Promise<UndoResult> {
    const alsoUndone: string[] = [];
    for (;;) {
      const undone = await this.#undo(namespace, id, fence);
      if (undone.outcome !== 'newer' || !withLater) return { ...undone, alsoUndone };
      const later = await this.#undo(namespace, undone.id, fence);
      if (later.outcome !== 'begun') return { ...later, alsoUndone, refusedBy: undone.id };
      alsoUndone.push(undone.id);
    }
  }

  async #undo(namespace: string, id: string, fence: number): Promise<UndoOutcome> {
    const { storage, clock, archiveMs } = this.#parts;
    const startedMs = performance.now();
    const begun = await storage.beginUndo(namespace, id, { fence, endedAfter: clock.now() - archiveMs });
    if (begun.outcome !== 'begun') return begun;
    await this.#undoRun(begun.ref);
    const run = await storage.run(namespace, id);
    if (run) this.#report(namespace, 'undone', run, startedMs);
    return begun;
  }

  /** Reverts a run after which some memories can no longer be recalled by their own words. */
  async #revertRun(ref: RunRef, lost: string[], startedMs: number): Promise<ConsolidationRun> {
    const { storage } = this.#parts;
    await storage.beginRevert(ref, { no_longer_recalled: lost });
    await this.#undoRun(ref);
    const run = (await storage.run(ref.namespace, ref.id)) as ConsolidationRun;
    this.#report(ref.namespace, 'reverted', run, startedMs, { no_longer_recalled: lost.length });
    return run;
  }

  async #undoRun(ref: RunRef): Promise<void> {
    const { storage, clock, embedding } = this.#parts;
    await this.#repeat(ref, () => storage.undoSome(ref, clock.now(), BATCH_SIZE));
    // Memories that an undo makes visible to recall again may need vectors.
    embedding?.look();
  }

  /** Runs batches until no work is left, and publishes the progress after each batch with changes. */
  async #repeat({ namespace }: RunRef, batch: () => Promise<StepResult>): Promise<void> {
    for (let more = true; more; ) {
      this.#stopping.signal.throwIfAborted();
      const done = await batch();
      if (done.count > 0) this.#publishProgress(namespace, { state: 'progress', changed_count: done.count });
      more = done.more;
    }
  }

  #publishProgress(namespace: string, progress: RunProgress): void {
    this.#parts.events.publishProgress(namespace, progress);
  }

  #report(
    namespace: string,
    state: 'completed' | 'undone' | 'reverted',
    run: ConsolidationRun,
    startedMs: number,
    facts: Record<string, number> = {},
  ): void {
    const counts = toCounts(run);
    this.#publishProgress(namespace, { state, run_id: run.id, ...counts });
    this.#parts.telemetry.report({
      level: state === 'reverted' ? 'error' : 'info',
      component: 'consolidation',
      event: `consolidation_${state}`,
      facts: { run: run.id, latency_ms: Math.round(performance.now() - startedMs), ...counts, ...facts },
    });
  }
}

/** The namespace of a run was deleted during the run. */
export class NamespaceDeletedError extends MemoryError {
  constructor() {
    super('NOT_FOUND', 'the namespace was deleted during its consolidation; start another consolidation');
  }
}
