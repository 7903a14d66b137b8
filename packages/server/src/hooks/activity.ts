import type { HookProgramActivity } from '@memoryd/contract';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Number of the last calls of a program whose durations give the percentiles. */
const MAX_DURATIONS = 200;

/** Maximum owners of all namespaces together, and programs of one owner. */
const LIMITS = { owners: 2000, programs: 16 };

/** Maximum UTF-16 units of an error message. */
const MAX_MESSAGE_CHARS = 300;

/** The owner of hook calls. `userId` is empty for calls that name no user. */
export interface HookOwner {
  namespace: string;
  userId: string;
}

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
type OwnerCalls = Map<string, ProgramCalls>;

/**
 * Counts the activity of the hooks of agent programs for each owner. Kept in this process only: a write to the database would
 * cost each hook a commit. At the limit, the owner without calls for the longest time is dropped, in the namespace with
 * the most owners, so that no namespace displaces the owners of another.
 */
export class HookActivity {
  /** By namespace and user, the user without calls for the longest time first. */
  readonly #namespaces = new Map<string, Map<string, OwnerCalls>>();
  readonly #maxOwners: number;
  #owners = 0;

  constructor(maxOwners: number = LIMITS.owners) {
    this.#maxOwners = maxOwners;
  }

  /** Counts one call of a program's hook. */
  record(owner: HookOwner, program: string, call: HookCall): void {
    const programs = this.#takeOwner(owner);
    const calls = programs.get(program) ?? createProgramCalls(call.at);
    programs.delete(program);
    programs.set(program, calls);
    const [oldest = ''] = programs.keys();
    if (programs.size > LIMITS.programs) programs.delete(oldest);
    addCall(calls, call);
  }

  /**
   * Returns the activity of the programs of an owner, ordered by name.
   *
   * @param now ms since 1970; counts are those of this day in UTC
   */
  get({ namespace, userId }: HookOwner, now: number): HookProgramActivity[] {
    const programs = this.#namespaces.get(namespace)?.get(userId) ?? new Map<string, ProgramCalls>();
    return [...programs]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([program, calls]) => toActivity(program, calls, now));
  }

  /** Returns the calls of an owner, who becomes the last one of the namespace. */
  #takeOwner({ namespace, userId }: HookOwner): OwnerCalls {
    const users = this.#namespaces.get(namespace) ?? new Map<string, OwnerCalls>();
    this.#namespaces.set(namespace, users);
    const known = users.get(userId);
    const programs: OwnerCalls = known ?? new Map();
    users.delete(userId);
    users.set(userId, programs);
    if (!known && ++this.#owners > this.#maxOwners) this.#dropOldestOwner();
    return programs;
  }

  #dropOldestOwner(): void {
    const [namespace, users] = [...this.#namespaces].reduce((most, each) =>
      each[1].size > most[1].size ? each : most,
    );
    const [oldest = ''] = users.keys();
    users.delete(oldest);
    if (users.size === 0) this.#namespaces.delete(namespace);
    this.#owners -= 1;
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
