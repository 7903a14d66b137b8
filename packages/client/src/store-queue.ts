import type { StoreRequest } from '@memoryd/contract';
import { getMessage, getRetryAfterMs, isOutage, isRequestError, withMessage } from './failure.ts';
import { MemoryError } from './memory-error.ts';
import { startBackgroundTimer, withTimeout } from './timer.ts';

/** Maximum memories that wait to be stored. */
export const MAX_WAITING = 1000;
/** Maximum size of the waiting memories, as JSON in UTF-8. */
export const MAX_WAITING_BYTES = 8 * 1024 * 1024;
/** Maximum sessions whose memories are stored at the same time. */
const MAX_CONCURRENT = 8;
/** Delay of the first retry after a failure of the service. Doubles with every further failure. */
const FIRST_DELAY_MS = 1000;
const MAX_DELAY_MS = 30_000;
/** Maximum delay while a program waits for `flush`. */
const MAX_FLUSH_DELAY_MS = 1000;
/** Maximum attempts that fail with an error that is neither an outage nor caused by the request. */
const MAX_ATTEMPTS = 5;

/** Memories that are stored together. */
export interface StoreJob {
  /** Identifies the user and the session. Jobs of one session are stored in order. */
  session: string;
  requests: readonly StoreRequest[];
  /** Size of the requests, as JSON in UTF-8. */
  bytes: number;
  /** Makes one attempt. Storing the same job again after a failure has no additional effect. */
  store(): Promise<unknown>;
  /** Receives the errors of the job, and of jobs that the queue refuses because it is full. Must not throw. */
  report(error: unknown): void;
}

/** A job in the queue. */
interface Entry {
  job: StoreJob;
  isActive: boolean;
  /** The job is not tried again. */
  isLast: boolean;
  attempts: number;
  /** Resolves when the job has left the queue. */
  done: Promise<void>;
  resolve: () => void;
}

/** Failures of the service since the last memory was stored. */
interface Outage {
  failures: number;
  /** Ends the pause before the next attempt. Undefined after the pause. */
  endPause: (() => void) | undefined;
}

/**
 * Stores memories in the background, in order within each session. While the service cannot be used, memories wait in
 * process memory, and one job at a time is tried again. If more than 1,000 memories or 8 MiB wait, the oldest are
 * refused. Memories of the attempts in progress do not count.
 */
export class StoreQueue {
  /** Oldest first. */
  readonly #entries = new Set<Entry>();
  #outage: Outage | undefined;
  #flushes = 0;
  /** Whether a refusal has been reported since the queue was last without waiting jobs. */
  #hasReportedRefusal = false;

  /** Adds a job, and starts its first attempt at once if possible. Jobs must not exceed the limits of the queue. */
  add(job: StoreJob): void {
    let resolve = () => {};
    const done = new Promise<void>((settle) => {
      resolve = settle;
    });
    this.#entries.add({ job, isActive: false, isLast: false, attempts: 0, done, resolve });
    this.#continue();
  }

  /** Returns the memories of a session that have not been stored yet, oldest first. */
  getUnstored(session: string): StoreRequest[] {
    return [...this.#entries].flatMap(({ job }) => (job.session === session ? job.requests : []));
  }

  /** Removes the waiting jobs of a session, and waits for the end of its attempt in progress. */
  async clear(session: string): Promise<void> {
    const entries = this.#getEntries(session);
    for (const entry of entries) {
      entry.isLast = true;
      if (!entry.isActive) this.#remove(entry);
    }
    await Promise.all(entries.map(({ done }) => done));
  }

  /**
   * Tries the waiting jobs at once, and resolves when all jobs that are now in the queue have left it. Rejects with
   * UNAVAILABLE if some are left after `timeoutMs`. These jobs stay in the queue.
   *
   * @param session if present, waits only for jobs of the session
   */
  async flush(timeoutMs: number, session?: string): Promise<void> {
    const entries = this.#getEntries(session);
    this.#flushes++;
    this.#outage?.endPause?.();
    const createError = () => {
      const count = countRequests(entries.filter((entry) => this.#entries.has(entry)));
      const message = `${count} memories were not stored within ${timeoutMs} ms, and are lost if the program ends now`;
      return new MemoryError('UNAVAILABLE', `${message}; check the service, or raise timeoutMs of flush`);
    };
    try {
      await withTimeout(timeoutMs, Promise.all(entries.map(({ done }) => done)), createError);
    } finally {
      this.#flushes--;
    }
  }

  #getEntries(session?: string): Entry[] {
    return [...this.#entries].filter(({ job }) => session === undefined || job.session === session);
  }

  /** Starts the attempts that may start now, and refuses the oldest waiting jobs if the queue is over its limits. */
  #continue(): void {
    const next = this.#getNext();
    for (const entry of next) entry.isActive = true;
    this.#refuseOldest();
    for (const entry of next) void this.#attempt(entry);
  }

  /** Returns the oldest job of each session that has no attempt in progress, as far as attempts may start now. */
  #getNext(): Entry[] {
    if (this.#outage?.endPause) return [];
    const sessions = new Set<string>();
    const next: Entry[] = [];
    let active = 0;
    for (const entry of this.#entries) if (entry.isActive) active++;
    for (const entry of this.#entries) {
      if (active >= (this.#outage ? 1 : MAX_CONCURRENT)) break;
      if (sessions.has(entry.job.session)) continue;
      sessions.add(entry.job.session);
      if (entry.isActive) continue;
      next.push(entry);
      active++;
    }
    return next;
  }

  async #attempt(entry: Entry): Promise<void> {
    const { job } = entry;
    entry.attempts++;
    try {
      await job.store();
      this.#remove(entry);
      this.#endOutage();
    } catch (error) {
      entry.isActive = false;
      if (entry.isLast) this.#remove(entry);
      else if (isRequestError(error) || (!isOutage(error) && entry.attempts >= MAX_ATTEMPTS)) {
        this.#remove(entry);
        job.report(error);
      } else this.#startPause(error, job);
    }
    this.#continue();
    if (![...this.#entries].some(({ isActive }) => !isActive)) this.#hasReportedRefusal = false;
  }

  #startPause(error: unknown, job: StoreJob): void {
    if (this.#outage?.endPause) return;
    if (!this.#outage) {
      const wait = `stores wait in memory until the service responds, at most ${MAX_WAITING} or 8 MiB`;
      job.report(withMessage(error, `${wait}: ${getMessage(error)}`));
    }
    const failures = (this.#outage?.failures ?? 0) + 1;
    const maxDelayMs = this.#flushes > 0 ? MAX_FLUSH_DELAY_MS : MAX_DELAY_MS;
    const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (failures - 1), maxDelayMs);
    const outage: Outage = { failures, endPause: undefined };
    const endPause = () => {
      stopTimer();
      outage.endPause = undefined;
      this.#continue();
    };
    // Random, so that programs that failed together do not retry together.
    const waitMs = Math.max(delayMs * (0.5 + Math.random() / 2), Math.min(getRetryAfterMs(error), MAX_DELAY_MS));
    const stopTimer = startBackgroundTimer(waitMs, endPause);
    outage.endPause = endPause;
    this.#outage = outage;
  }

  #endOutage(): void {
    const outage = this.#outage;
    this.#outage = undefined;
    outage?.endPause?.();
  }

  #refuseOldest(): void {
    const waiting = [...this.#entries].filter(({ isActive }) => !isActive);
    let count = countRequests(waiting);
    let bytes = waiting.reduce((sum, { job }) => sum + job.bytes, 0);
    for (const entry of waiting) {
      if (count <= MAX_WAITING && bytes <= MAX_WAITING_BYTES) return;
      count -= entry.job.requests.length;
      bytes -= entry.job.bytes;
      this.#remove(entry);
      this.#reportRefusal(entry.job);
    }
  }

  /** Reports the first refusal at once: the service may stay unavailable until the program ends. */
  #reportRefusal({ report }: StoreJob): void {
    if (this.#hasReportedRefusal) return;
    this.#hasReportedRefusal = true;
    const reason = `more than ${MAX_WAITING} memories or 8 MiB wait for the service`;
    const message = `${reason}, so the oldest are not stored, now and until it responds`;
    report(
      new MemoryError('UNAVAILABLE', `${message}; to store many, use storeBatch, or await flush after each 1,000`),
    );
  }

  #remove(entry: Entry): void {
    this.#entries.delete(entry);
    entry.resolve();
  }
}

function countRequests(entries: readonly Entry[]): number {
  return entries.reduce((sum, { job }) => sum + job.requests.length, 0);
}
