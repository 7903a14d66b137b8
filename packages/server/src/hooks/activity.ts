import type { HookProgramActivity } from '@memoryd/contract';
import { type HookOwner, OwnerMap } from './owner-map.ts';
import type { ProgramName } from './programs/programs.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Number of the last calls of a program whose durations give the percentiles. */
const MAX_DURATIONS = 200;

/** Maximum owners of all namespaces together. */
const MAX_OWNERS = 2000;

/** Maximum UTF-16 units of an error message. */
const MAX_MESSAGE_CHARS = 300;

/** One call of a hook. */
export interface HookCall {
  /** Time of the call, in ms since 1970. */
  at: number;
  durationMs: number;
  /** True if the call stored a memory. */
  stored?: boolean;
  /** Number of secrets that were removed before storing. */
  redacted?: number;
  /** Number of memories that were given to the program. */
  given?: number;
  /** Why the call failed: a phrase without texts of prompts or memories. */
  error?: string;
}

/** The counts of one day in UTC, numbered from 1970. */
interface DayCounts {
  day: number;
  calls: number;
  stored: number;
  redacted: number;
  given: number;
}

interface ProgramCalls {
  today: DayCounts;
  lastAt: number;
  lastError: HookProgramActivity['last_error'];
  /** Durations of the last calls in ms, of which the oldest is replaced. */
  durationsMs: number[];
  callCount: number;
}

/** Calls by program name. */
type OwnerCalls = Map<ProgramName, ProgramCalls>;

/**
 * Counts the activity of the hooks of agent programs for each owner. Kept in this process only: a write to the database would
 * cost each hook a commit.
 */
export class HookActivity {
  readonly #owners: OwnerMap<OwnerCalls>;

  constructor(maxOwners: number = MAX_OWNERS) {
    this.#owners = new OwnerMap(maxOwners);
  }

  /** Counts one call of a program's hook. */
  record(owner: HookOwner, program: ProgramName, call: HookCall): void {
    const programs = this.#owners.take(owner, () => new Map());
    const calls = programs.get(program) ?? createProgramCalls(call.at);
    programs.set(program, calls);
    addCall(calls, call);
  }

  /**
   * Returns the activity of the programs of an owner, ordered by name.
   *
   * @param now ms since 1970; counts are those of this day in UTC
   */
  get(owner: HookOwner, now: number): HookProgramActivity[] {
    return [...(this.#owners.get(owner) ?? [])]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([program, calls]) => toActivity(program, calls, now));
  }
}

function toDay(at: number): number {
  return Math.floor(at / DAY_MS);
}

function createCounts(day: number): DayCounts {
  return { day, calls: 0, stored: 0, redacted: 0, given: 0 };
}

function createProgramCalls(at: number): ProgramCalls {
  return { today: createCounts(toDay(at)), lastAt: at, lastError: null, durationsMs: [], callCount: 0 };
}

function addCall(calls: ProgramCalls, call: HookCall): void {
  const { at, durationMs, stored = false, redacted = 0, given = 0, error } = call;
  if (calls.today.day !== toDay(at)) calls.today = createCounts(toDay(at));
  calls.today.calls += 1;
  calls.today.stored += stored ? 1 : 0;
  calls.today.redacted += redacted;
  calls.today.given += given;
  calls.lastAt = at;
  calls.durationsMs[calls.callCount++ % MAX_DURATIONS] = durationMs;
  if (error !== undefined) calls.lastError = { at: toTime(at), message: error.slice(0, MAX_MESSAGE_CHARS) };
}

function toActivity(program: string, calls: ProgramCalls, now: number): HookProgramActivity {
  const today = calls.today.day === toDay(now) ? calls.today : createCounts(toDay(now));
  const sorted = calls.durationsMs.toSorted((one, other) => one - other);
  return {
    program,
    last_call_at: toTime(calls.lastAt),
    calls_today: today.calls,
    stored_today: today.stored,
    redacted_today: today.redacted,
    given_today: today.given,
    p50_ms: getPercentile(sorted, 0.5),
    p99_ms: getPercentile(sorted, 0.99),
    last_error: calls.lastError,
  };
}

/** Returns the nearest-rank percentile of ascending durations, in tenths of a ms. */
function getPercentile(sorted: readonly number[], share: number): number {
  const value = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return Math.round(value * 10) / 10;
}

function toTime(at: number): string {
  return new Date(at).toISOString();
}
