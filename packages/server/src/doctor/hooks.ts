import type { HookProgramActivity, HooksResponse, MemoryError } from '@memoryd/contract';
import {
  formatIgnoredFolder,
  formatLastError,
  formatProgramActivity,
  PAUSED,
  readServiceActivity,
  type ServiceUser,
} from '../connect/service-activity.ts';
import type { Finding } from './finding.ts';

/** Age in ms from which the last error of a program is no warning. */
const RECENT_MS = 24 * 60 * 60 * 1000;

/** Reports what the hooks of a user's agent programs did at a running service, and what the user has set. */
export async function checkHooks(service: ServiceUser, now = Date.now()): Promise<Finding[]> {
  const of = service.userId === undefined ? '' : ` of ${service.userId}`;
  try {
    return toFindings(await readServiceActivity(service), of, now);
  } catch (error) {
    const { code, message } = error as MemoryError;
    const found = `the hooks${of} cannot be read: ${message}`;
    return [{ check: 'hooks', state: 'warning', found, advice: ADVICE[code] ?? 'check the log of the service' }];
  }
}

const ADVICE: Partial<Record<string, string>> = {
  UNAUTHORIZED: 'set SERVICE_API_KEY',
  FORBIDDEN: 'use --user with the user that the key is bound to',
  NOT_FOUND: 'update the service',
};

function toFindings({ paused, ignored_folders, programs }: HooksResponse, of: string, now: number): Finding[] {
  const pause: Finding = { check: 'hooks', state: 'warning', found: PAUSED, advice: 'memoryd connect --resume' };
  const none = `no agent program has called a hook${of} since the service started`;
  return [
    ...(paused ? [pause] : []),
    ...ignored_folders.map((folder) => toOk(formatIgnoredFolder(folder))),
    ...programs.flatMap((program) => [toOk(formatProgramActivity(program, now)), ...toErrorFindings(program, now)]),
    ...(programs.length === 0 ? [toOk(none)] : []),
  ];
}

function toErrorFindings(program: HookProgramActivity, now: number): Finding[] {
  const isRecent = program.last_error !== null && now - Date.parse(program.last_error.at) < RECENT_MS;
  return formatLastError(program, now).map((found) =>
    isRecent ? { check: 'hooks', state: 'warning', found, advice: 'check the log of the service' } : toOk(found),
  );
}

function toOk(found: string): Finding {
  return { check: 'hooks', state: 'ok', found };
}
