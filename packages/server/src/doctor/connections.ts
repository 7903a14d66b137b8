import { readKey } from '../connect/access.ts';
import {
  type AccountStatus,
  describeState,
  type ProgramStatus,
  readConnectStatus,
} from '../connect/connection-status.ts';
import { getMachine } from '../connect/machine.ts';
import { getMessage } from '../error-text.ts';
import type { Finding } from './finding.ts';

/**
 * Checks the programs that `memoryd connect` connected: whether their files are there and trusted, their services answer,
 * and their hooks had no error. No findings if no program is connected.
 */
export async function checkConnections(machine = getMachine()): Promise<Finding[]> {
  try {
    return toFindings(await readConnectStatus(machine));
  } catch (error) {
    return [{ check: 'connect', state: 'problem', found: getMessage(error), advice: 'repair the file it names' }];
  }
}

function checkAccount(account: AccountStatus): Finding[] {
  if (account.state === 'healthy') return [];
  const found = `the service of connected programs at ${account.url} ${describeState(account)}`;
  return [{ check: 'connect', state: 'problem', found, advice: 'memoryd connect --status shows more' }];
}

function checkProgram({ title, project, files, trust, activity }: ProgramStatus): Finding {
  const name = project === null ? title : `${title} in ${project}`;
  const missing = files.find(({ state }) => state === 'missing');
  if (missing) {
    const found = `${name} is connected, and ${missing.path} is missing`;
    return { check: 'connect', state: 'warning', found, advice: 'run memoryd connect with the program again' };
  }
  if (trust.state === 'untrusted') {
    return {
      check: 'connect',
      state: 'warning',
      found: `${name} does not run its hooks`,
      advice: trust.text.replace('not trusted: ', ''),
    };
  }
  if (activity?.last_error) {
    const found = `${name} had an error at ${activity.last_error.at}: ${activity.last_error.message}`;
    return { check: 'connect', state: 'warning', found, advice: 'check the log of the service' };
  }
  const calls =
    activity === null ? 'no call since the service started' : `${formatCount(activity.calls_today, 'call')} today`;
  return { check: 'connect', state: 'ok', found: `${name} is connected (${calls})` };
}
