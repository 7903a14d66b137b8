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
import { checkHooks } from './hooks.ts';

/** A service, if one was found, and a user of it. */
type Checked = { [Name in 'url' | 'userId' | 'apiKey']?: string | undefined };

/**
 * Reports what the hooks of a user did at a service, and checks the connected programs.
 *
 * @param responds whether the service responds
 */
export async function checkPrograms({ url, userId, apiKey }: Checked, responds: boolean): Promise<Finding[]> {
  const hooks =
    url === undefined || !responds
      ? []
      : await checkHooks({ url, userId, apiKey: apiKey ?? readKey(getMachine(), url) });
  return [...hooks, ...(await checkConnections({ url, userId }))];
}

/**
 * Checks the programs that `memoryd connect` connected: whether their services respond, and whether their files are there
 * and trusted. No findings if no program is connected.
 *
 * @param reported a service and user whose hooks are reported already
 */
export async function checkConnections(
  reported: Pick<Checked, 'url' | 'userId'> = {},
  machine = getMachine(),
): Promise<Finding[]> {
  try {
    const { accounts, programs } = await readConnectStatus(machine);
    const others = accounts.filter(({ url, user }) => url !== reported.url || user !== reported.userId);
    const hooks = others
      .filter(({ state }) => state === 'healthy')
      .map(({ url, user }) => checkHooks({ url, userId: user, apiKey: readKey(machine, url) }));
    return [...accounts.flatMap(checkAccount), ...(await Promise.all(hooks)).flat(), ...programs.map(checkProgram)];
  } catch (error) {
    return [{ check: 'connect', state: 'problem', found: getMessage(error), advice: 'repair the file it names' }];
  }
}

function checkAccount(account: AccountStatus): Finding[] {
  if (account.state === 'healthy') return [];
  const found = `the service of connected programs at ${account.url} ${describeState(account)}`;
  return [{ check: 'connect', state: 'problem', found, advice: 'memoryd connect --status shows more' }];
}

function checkProgram({ title, project, files, trust }: ProgramStatus): Finding {
  const name = project === null ? title : `${title} in ${project}`;
  const missing = files.find(({ state }) => state === 'missing');
  if (missing) {
    const found = `${name} is connected, and ${missing.path} is missing`;
    return { check: 'connect', state: 'warning', found, advice: 'run memoryd connect with the program again' };
  }
  if (trust.state === 'untrusted') {
    const advice = trust.text.replace('not trusted: ', '');
    return { check: 'connect', state: 'warning', found: `${name} does not run its hooks`, advice };
  }
  return { check: 'connect', state: 'ok', found: `${name} is connected` };
}
