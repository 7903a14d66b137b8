import { formatCount } from '@memoryd/contract';
import { serviceAt } from '../commands/memories.ts';
import { toShellWord } from '../commands/shell-word.ts';
import { AGENT_PROGRAMS } from './programs/index.ts';
import type { Connection, Machine } from './types.ts';

/** Time to wait for the service, in ms, because the person is waiting for a count only. */
const TIMEOUT_MS = 3000;

/**
 * Returns how many texts hooks have stored of a program, and the command that forgets them; nothing if there are none.
 */
export async function describeStored(connection: Connection, machine: Machine, apiKey?: string): Promise<string[]> {
  const { program, user, url } = connection;
  const { title } = AGENT_PROGRAMS[program];
  const command = `memoryd forget --url ${toShellWord(url, machine.platform)} --user ${toShellWord(user, machine.platform)} --source ${program} --yes`;
  try {
    const api = await serviceAt({ url, ...(apiKey !== undefined && { apiKey }) }, { attemptTimeoutMs: TIMEOUT_MS });
    const { total } = await api.memories({ user_id: user, source: program, limit: 1 });
    if (total === 0) return [];
    return [
      `Still stored from ${title}: ${formatCount(total, 'memory', 'memories')}. To forget all of them: ${command}`,
    ];
  } catch {
    // The connection ends all the same, so that an absent service is no error.
    return [`Memories from ${title} stay stored. To forget them when the service runs: ${command}`];
  }
}
