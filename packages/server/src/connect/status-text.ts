import { toPrintable } from '../commands/printable.ts';
import { type AccountStatus, type ConnectStatus, describeState, type ProgramStatus } from './connection-status.ts';
import { formatIgnoredFolder, formatLastError, formatProgramActivity, PAUSED } from './service-activity.ts';

const INDENT = '  ';

/**
 * Returns the state of all connections as lines for a person.
 *
 * @param now ms since 1970
 */
export function formatStatus(
  { accounts, programs, installed_service, hook_log }: ConnectStatus,
  now = Date.now(),
): string[] {
  const service =
    installed_service === null
      ? []
      : [
          `Service of yours: ${installed_service.isRunning ? 'running' : 'not running'} under ${installed_service.manager} ` +
            `(${installed_service.file}${installed_service.fileState === 'unchanged' ? '' : `, ${installed_service.fileState}`})`,
        ];
  const none = programs.length === 0 ? ['No program is connected. memoryd connect lists the installed ones.'] : [];
  return [
    ...none,
    ...accounts.flatMap(formatAccount),
    ...service,
    ...programs.flatMap((program) => formatProgram(program, isRead(program, accounts), now)),
    ...(hook_log === null ? [] : ['', `Last line of the hook log: ${hook_log}`]),
  ].map(toPrintable);
}

function formatAccount(account: AccountStatus): string[] {
  const { url, user, version, paused, ignored_folders = [] } = account;
  const name = version === undefined ? 'The service' : `memoryd ${version}`;
  return [
    `${name} at ${url} ${describeState(account)}`,
    ...(paused === undefined
      ? []
      : [
          paused
            ? `For ${user}, ${PAUSED}; memoryd connect --resume ends the pause`
            : `For ${user}, the hooks are active`,
        ]),
    ...ignored_folders.map((folder) => `For ${user}, ${formatIgnoredFolder(folder)}`),
  ];
}

/** Returns whether the service of a program has returned its activity. */
function isRead({ url, user }: ProgramStatus, accounts: readonly AccountStatus[]): boolean {
  return accounts.some((account) => account.url === url && account.user === user && account.state === 'healthy');
}

function formatProgram(
  { program, title, project, user, files, trust, activity }: ProgramStatus,
  isActivityRead: boolean,
  now: number,
): string[] {
  const head = ['', `${title}${project === null ? '' : ` in ${project}`}, for ${user}`];
  if (program === 'claude-desktop') return [...head, `${INDENT}no hooks: the model calls the tools`];
  const calls =
    activity === null
      ? [
          isActivityRead
            ? 'no hook called since the service started'
            : 'calls unknown, because the service did not return them',
        ]
      : [formatProgramActivity(activity, now), ...formatLastError(activity, now)];
  return [
    ...head,
    ...files.map(({ path, state }) => `${INDENT}${state}: ${path}`),
    ...[trust.text, ...calls].map((line) => `${INDENT}${line}`),
  ];
}
