import type { HookProgramActivity, HooksResponse } from '@memoryd/contract';
import { formatCount } from '@memoryd/contract';
import { atService } from '../place-errors.ts';

/** Request timeout, short because the user is waiting. */
const TIMEOUT_MS = 5000;

const MINUTE_MS = 60_000;

/** A service, and the user whose hooks are read. */
export interface ServiceUser {
  url: string;
  apiKey?: string | undefined;
  /** Absent for the hooks of no user, or for the user that the key is bound to. */
  userId?: string | undefined;
}

/**
 * Reads the hook settings of a user from a service, and what the hooks of the user's programs did.
 *
 * @throws MemoryError UNAVAILABLE with the fix if the service does not respond; otherwise the error of the service, such
 *   as UNAUTHORIZED, or FORBIDDEN if the key is bound to another user
 */
export async function readServiceActivity({ url, apiKey, userId }: ServiceUser): Promise<HooksResponse> {
  const { AdministrationClient } = await import('@memoryd/client/administration');
  const client = new AdministrationClient({ url, retries: 0, ...(apiKey !== undefined && { apiKey }) });
  const request = userId === undefined ? {} : { user_id: userId };
  return atService(url, () => client.hooks(request, { timeoutMs: TIMEOUT_MS }));
}

/**
 * Formats the activity of hooks as lines for a terminal: the settings that differ from the default, then for each program
 * its calls and its last error.
 *
 * @param now ms since 1970
 */
export function formatServiceActivity({ paused, ignored_folders, programs }: HooksResponse, now: number): string[] {
  return [
    ...(paused ? [`${PAUSED}; \`memoryd connect --resume\` resumes them`] : []),
    ...ignored_folders.map(formatIgnoredFolder),
    ...programs.flatMap((program) => [formatProgramActivity(program, now), ...formatLastError(program, now)]),
  ];
}

/** The line for paused hooks. */
export const PAUSED = 'the hooks are paused: they store and give nothing';

/** Formats an ignored folder. */
export function formatIgnoredFolder(folder: string): string {
  return `the hooks ignore the folder ${folder}`;
}

/** Formats the activity of one program: `codex: last call 3 minutes ago; today 2 calls, 1 stored, …`. */
export function formatProgramActivity(activity: HookProgramActivity, now: number): string {
  const { calls_today, stored_today, given_today, redacted_today, p50_ms, p99_ms } = activity;
  const today = [
    formatCount(calls_today, 'call'),
    `${stored_today} stored`,
    `${given_today} given`,
    ...(redacted_today > 0 ? [`${formatCount(redacted_today, 'secret')} removed`] : []),
  ];
  const last = `${activity.program}: last call ${formatAge(activity.last_call_at, now)}`;
  return `${last}; today ${today.join(', ')}; p50 ${p50_ms} ms, p99 ${p99_ms} ms`;
}

/** Formats the last error of a program as a line, if it had one. */
export function formatLastError({ program, last_error }: HookProgramActivity, now: number): string[] {
  return last_error ? [`${program}: last error ${formatAge(last_error.at, now)}: ${last_error.message}`] : [];
}

/** Formats the time since a past time: `3 minutes ago`. */
function formatAge(at: string, now: number): string {
  const minutes = Math.floor((now - Date.parse(at)) / MINUTE_MS);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${formatCount(minutes, 'minute')} ago`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${formatCount(hours, 'hour')} ago` : `${formatCount(Math.floor(hours / 24), 'day')} ago`;
}
