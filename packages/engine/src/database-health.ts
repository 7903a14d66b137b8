import { setTimeout as delay } from 'node:timers/promises';
import { DEFAULTS, MemoryError } from '@memoryd/contract';
import type { Storage, Telemetry } from '@memoryd/core';
import { BackgroundTask } from '@memoryd/core';
import type { Outcome } from '@memoryd/core/operations';
import { isCorruption } from '@memoryd/core/operations';
import type { Clock, StorageStats } from '@memoryd/core/ports';

/** Interval of the checks, and minimum interval of checks that a failed storage call causes, in ms. */
const CHECK_INTERVAL_MS = 1000;

/** Age in ms above which the last answer of the database does not count. */
const MAX_AGE_MS = 5000;

/**
 * A check that fails after this time, in ms, has failed because of a timeout, and is no answer of the database. Less
 * than the shortest timeout of a storage, which is 5 s.
 */
const MAX_ANSWER_MS = 4500;

/**
 * Maximum wait in ms for a check that a failed storage call has caused, or that follows a pause. Health probes often
 * have a timeout of one second.
 */
const MAX_WAIT_MS = 75;

/** Time in ms without a caller of `getState` after which the checks pause, because each check is a write. */
const PAUSE_AFTER_MS = 600_000;

/**
 * Time in ms for which the database is reported as corrupt after a storage call has failed because of corruption. A
 * successful check does not end this time, because a check reads only a small part of the database.
 */
const CORRUPTION_TTL_MS = 300_000;

/** Characters written by a check after a storage call failed with UNAVAILABLE. Detects a nearly full disk. */
const LARGE_PROBE_CHARS = 1024 * 1024;

/** The state of a database at its last checks. */
export interface DatabaseState {
  /** Why the database cannot be read or written, as a phrase for operators. Absent if the database works. */
  problem?: string;
  /** True if the database has not answered the last checks. `problem` then contains the seconds since the last answer. */
  isUnanswered: boolean;
  /** True if the last read has succeeded, and is recent. */
  isReadable: boolean;
  /** Time of the last answer to each check, in milliseconds since 1970; null before the first. */
  checkedAt: number | null;
  /** The last known statistics of the namespace `default`. Undefined if they have never been read. */
  stats: StorageStats | undefined;
}

/**
 * Detects whether a database works, by the errors of storage calls and by checks that write and read every second. The
 * checks begin at the first call of `getState`.
 */
export class DatabaseHealth {
  readonly #write: Check<void>;
  readonly #read: Check<StorageStats>;
  #corruption: { problem: string; at: number } | undefined;
  /** True if a storage call has failed with UNAVAILABLE since the last successful write. */
  #isSuspect = false;

  constructor(storage: Storage, clock: Clock, telemetry: Telemetry) {
    const onFailed = (error: unknown) => {
      this.#noteCorruption(error);
      if (error instanceof MemoryError && error.code !== 'INTERNAL_ERROR') return;
      telemetry.report({ level: 'error', component: 'engine', event: 'health_unknown', error });
    };
    this.#write = new Check(async () => {
      const isSuspect = this.#isSuspect;
      await storage.probe(clock.now(), isSuspect ? LARGE_PROBE_CHARS : 0);
      // A call may have failed during a small write, which does not prove that the database works.
      if (isSuspect) this.#isSuspect = false;
    }, onFailed);
    this.#read = new Check(() => storage.stats(DEFAULTS.namespace, clock.now()), onFailed);
  }

  /** Records the error of a storage call if the error shows that the database is corrupt or unavailable. */
  note(error: unknown): void {
    if (this.#noteCorruption(error)) return;
    if (!(error instanceof MemoryError && error.code === 'UNAVAILABLE') || this.#isSuspect) return;
    this.#isSuspect = true;
    for (const check of [this.#read, this.#write]) check.repeatSoon();
  }

  /**
   * Returns the state of the last checks within a fifth of a second, even if the database does not answer. The first
   * call waits for the first check, for up to five seconds.
   */
  async getState(): Promise<DatabaseState> {
    const [write, read] = await Promise.all([this.#write.getResult(), this.#read.getResult()]);
    const results = [write, read];
    const unansweredMs = Math.max(...results.map(({ ageMs }) => ageMs));
    const isUnanswered = unansweredMs > MAX_AGE_MS;
    const failed = results.find((result) => result.problem !== undefined)?.problem;
    const corruption = this.#getCorruption();
    const problem = corruption ?? (isUnanswered ? toUnanswered(unansweredMs) : failed);
    return {
      ...(problem !== undefined && { problem }),
      isUnanswered: isUnanswered && corruption === undefined,
      isReadable: read.ageMs <= MAX_AGE_MS && read.problem === undefined,
      checkedAt: read.at === undefined || write.at === undefined ? null : Math.min(read.at, write.at),
      stats: read.value,
    };
  }

  /** Ends the checks. Does not wait for a check in progress, because the database may not answer. */
  stop(): void {
    for (const check of [this.#read, this.#write]) check.stop();
  }

  #getCorruption(): string | undefined {
    if (!this.#corruption || performance.now() - this.#corruption.at >= CORRUPTION_TTL_MS) return undefined;
    return this.#corruption.problem;
  }

  #noteCorruption(error: unknown): boolean {
    if (!isCorruption(error)) return false;
    this.#corruption = { problem: error.message, at: performance.now() };
    return true;
  }
}

function toUnanswered(ms: number): string {
  if (ms === Number.POSITIVE_INFINITY) return 'the database has not answered yet; retry in a second';
  return `the database has not answered for ${Math.floor(ms / 1000)} s`;
}

/** The last answer to a check. */
interface CheckResult<T> {
  /** The last value that the database has returned, which may be older than the answer. */
  value: T | undefined;
  /** Why the last check failed. Undefined if it succeeded. */
  problem: string | undefined;
  /** Time since the answer in ms; infinite before the first answer. */
  ageMs: number;
  /** Time of the answer in milliseconds since 1970; undefined before the first answer. */
  at: number | undefined;
}

/** A call of the database that is repeated every second. At most one call is in progress. */
class Check<T> {
  readonly #call: () => Promise<T>;
  readonly #onFailed: (error: unknown) => void;
  readonly #task = new BackgroundTask({ run: () => this.#run(), everyMs: CHECK_INTERVAL_MS });
  #value: T | undefined;
  #problem: string | undefined;
  #answered: { at: number; clockMs: number } | undefined;
  #askedMs = Number.NEGATIVE_INFINITY;
  #repeatedMs = Number.NEGATIVE_INFINITY;
  /** Set from `repeat` to the end of its run. Resolves at that end, or earlier after the maximum wait. */
  #awaited: Promise<unknown> | undefined;

  /** @param onFailed called with the error of a failed call, unless the calls before failed too */
  constructor(call: () => Promise<T>, onFailed: (error: unknown) => void) {
    this.#call = call;
    this.#onFailed = onFailed;
  }

  /** Returns the last answer. Waits a short time for a newer one if the answer is too old or `repeatSoon` was called. */
  async getResult(): Promise<CheckResult<T>> {
    const isFirst = this.#askedMs === Number.NEGATIVE_INFINITY;
    this.#askedMs = performance.now();
    if (this.#getAgeMs() > MAX_AGE_MS) this.#repeat(isFirst ? MAX_AGE_MS : MAX_WAIT_MS);
    await this.#awaited;
    return { value: this.#value, problem: this.#problem, ageMs: this.#getAgeMs(), at: this.#answered?.at };
  }

  /** Repeats the check without waiting for its interval, unless this has happened within the last second. */
  repeatSoon(): void {
    const now = performance.now();
    if (now - this.#repeatedMs < CHECK_INTERVAL_MS) return;
    this.#repeatedMs = now;
    this.#repeat(MAX_WAIT_MS);
  }

  stop(): void {
    void this.#task.stop();
  }

  #repeat(maxWaitMs: number): void {
    if (this.#awaited) return;
    const done = this.#task.request('now').then(() => {
      this.#awaited = undefined;
    });
    this.#awaited = Promise.race([done, delay(maxWaitMs, undefined, { ref: false })]);
  }

  #getAgeMs(): number {
    return this.#answered ? performance.now() - this.#answered.clockMs : Number.POSITIVE_INFINITY;
  }

  async #run(): Promise<Outcome> {
    const startedMs = performance.now();
    if (startedMs - this.#askedMs > PAUSE_AFTER_MS) return 'done';
    try {
      this.#value = await this.#call();
      this.#answer(undefined);
    } catch (error) {
      if (this.#problem === undefined) this.#onFailed(error);
      if (performance.now() - startedMs < MAX_ANSWER_MS) this.#answer(getMessage(error));
    }
    return 'done';
  }

  #answer(problem: string | undefined): void {
    this.#problem = problem;
    this.#answered = { at: Date.now(), clockMs: performance.now() };
  }
}

function getMessage(error: unknown): string {
  return error instanceof MemoryError ? error.message : 'the database failed; see the log';
}

/** Wraps the methods of a storage so that `health` records their rejections. */
export function withHealth(health: Pick<DatabaseHealth, 'note'>, storage: Storage): Storage {
  const watched = Object.entries(storage).map(([name, member]) => {
    if (typeof member !== 'function') return [name, member];
    return [
      name,
      (...args: unknown[]) => {
        const result: unknown = member(...args);
        if (result instanceof Promise) result.catch((error: unknown) => health.note(error));
        return result;
      },
    ];
  });
  return Object.fromEntries(watched) as Storage;
}
