import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { MemoryClient } from '@memoryd/client';
import type { HookProgramActivity } from '@memoryd/contract';
import { getMessage } from '../error-text.ts';
import { readKey } from './access.ts';
import { getOwnFiles } from './machine.ts';
import { AGENT_PROGRAMS } from './programs/index.ts';
import { isSameConnection, type RecordedConnection, readRecord } from './record.ts';
import { readServiceState } from './service/service.ts';
import type { ServiceState } from './service/user-service.ts';
import { readServiceActivity } from './service-activity.ts';
import { readTrust, type Trust } from './trust.ts';
import type { Machine } from './types.ts';

/** Maximum retries of a request, low because a person is waiting. */
const RETRIES = 0;
const TIMEOUT_MS = 5000;

/** A service, and its settings and activity for one user. */
export interface AccountStatus {
  url: string;
  user: string;
  /** The state of the service: `refused` if it answers and the key is missing or does not work. */
  state: 'healthy' | 'unhealthy' | 'unreachable' | 'refused';
  /** The reason for any other state than `healthy`. */
  reason?: string;
  version?: string;
  paused?: boolean;
  ignored_folders?: string[];
}

/** A file of a program. `edited`: somebody changed it after connect wrote it, which does no harm. */
interface FileStatus {
  path: string;
  state: 'unchanged' | 'edited' | 'missing';
}

/** A connected program. */
export interface ProgramStatus {
  program: string;
  title: string;
  /** The folder of the project; null for a connection of the user. */
  project: string | null;
  url: string;
  user: string;
  files: FileStatus[];
  trust: Trust;
  /** The activity of the program's hooks for the user; null if the service has seen no call, or did not answer. */
  activity: HookProgramActivity | null;
}

/** The state of all connections. */
export interface ConnectStatus {
  accounts: AccountStatus[];
  programs: ProgramStatus[];
  /** The service that connect installed; null if it installed none. */
  installed_service: ServiceState | null;
  /** The last line of the log of hooks that could not reach the service; null without a log. */
  hook_log: string | null;
}

/**
 * Reads the state of all connections from the files of programs and from their services. Changes nothing.
 *
 * @param url only the connections to this service
 */
export async function readConnectStatus(machine: Machine, url?: string): Promise<ConnectStatus> {
  const record = readRecord(machine);
  const connections = record.connections.filter((each) => url === undefined || each.url === url);
  const accounts = await Promise.all(
    getAccounts(connections).map((account) => readAccount(machine, account.url, account.user)),
  );
  const programs = connections.map((connection): ProgramStatus => {
    const { program, project = null, url, user } = connection;
    const account = accounts.find(({ status }) => status.url === url && status.user === user);
    return {
      ...{ program, title: AGENT_PROGRAMS[program].title, project, url, user },
      files: record.files
        .filter(({ owners }) => owners.some((owner) => isSameConnection(owner, connection)))
        .map(({ path, written }) => ({ path, state: getFileState(path, written) })),
      trust: readTrust(connection, machine),
      activity: account?.activities.find((each) => each.program === program) ?? null,
    };
  });
  return {
    accounts: accounts.map(({ status }) => status),
    programs,
    installed_service: (await readServiceState(machine)) ?? null,
    hook_log: readLastLine(getOwnFiles(machine).log) ?? null,
  };
}

/** Returns the distinct pairs of service and user. */
function getAccounts(connections: readonly RecordedConnection[]): { url: string; user: string }[] {
  const accounts = new Map(connections.map(({ url, user }) => [JSON.stringify([url, user]), { url, user }]));
  return [...accounts.values()];
}

async function readAccount(
  machine: Machine,
  url: string,
  user: string,
): Promise<{ status: AccountStatus; activities: HookProgramActivity[] }> {
  const apiKey = readKey(machine, url);
  const options = { url, retries: RETRIES, timeoutMs: TIMEOUT_MS, ...(apiKey !== undefined && { apiKey }) };
  try {
    const { status: health, version, reason } = await new MemoryClient({ ...options, onWarning: () => {} }).health();
    if (health !== 'healthy') {
      return { status: { url, user, state: 'unhealthy', version, ...(reason && { reason }) }, activities: [] };
    }
    const { programs, ...settings } = await readServiceActivity({ url, apiKey, userId: user });
    return { status: { url, user, state: 'healthy', version, ...settings }, activities: programs };
  } catch (error) {
    const state = (error as { isUnanswered?: boolean }).isUnanswered ? 'unreachable' : 'refused';
    return { status: { url, user, state, reason: getMessage(error) }, activities: [] };
  }
}

/** @param written SHA-256 of the bytes that connect wrote, in hex */
function getFileState(path: string, written: string): FileStatus['state'] {
  try {
    return createHash('sha256').update(readFileSync(path)).digest('hex') === written ? 'unchanged' : 'edited';
  } catch {
    return 'missing';
  }
}

function readLastLine(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim().split('\n').at(-1) || undefined;
  } catch {
    return undefined;
  }
}

/** Returns the state of a service as the end of a sentence: `is healthy`. */
export function describeState({ state, user, reason }: AccountStatus): string {
  const words = {
    healthy: 'is healthy',
    unhealthy: 'is unhealthy',
    unreachable: 'does not respond',
    refused: `refuses the requests of ${user}`,
  };
  return reason === undefined ? words[state] : `${words[state]} (${reason})`;
}
