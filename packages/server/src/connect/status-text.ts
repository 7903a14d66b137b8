import { toShortTime } from '../commands/local-time.ts';
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
    ...programs.flatMap(formatProgram),
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
      : [`Hooks of ${user}: ${paused ? 'paused (memoryd connect --resume ends the pause)' : 'active'}`]),
    ...ignored_folders.map((folder) => `Ignored folder: ${folder}`),
  ];
}

function formatProgram({ program, title, project, user, files, trust, activity }: ProgramStatus): string[] {
  const place = project === null ? '' : ` in ${project}`;
  if (program === 'claude-desktop')
    return ['', `${title}, for ${user}`, `${INDENT}hooks       none; the model calls tools`];
  return [
    '',
    `${title}${place}, for ${user}`,
    ...files.map(({ path, state }) => `${INDENT}file        ${path} (${state})`),
    `${INDENT}trust       ${trust.text}`,
    ...(activity === null ? [`${INDENT}last call   none since the service started`] : formatActivity(activity)),
  ];
}

function formatActivity(activity: NonNullable<ProgramStatus['activity']>): string[] {
  const { last_call_at, stored_today, given_today, redacted_today, p50_ms, p99_ms, last_error } = activity;
  return [
    `${INDENT}last call   ${toShortTime(last_call_at, {})}`,
    `${INDENT}today       ${stored_today} stored, ${given_today} given, ${redacted_today} secrets removed`,
    `${INDENT}time        p50 ${Math.round(p50_ms)} ms, p99 ${Math.round(p99_ms)} ms`,
    `${INDENT}last error  ${last_error === null ? 'none' : `${toShortTime(last_error.at, {})} ${last_error.message}`}`,
  ];
}
